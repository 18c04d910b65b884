// SPDX-License-Identifier: Apache-2.0
//
// Rounding a real number to a dtype, as abi/program.h defines it, by plain
// arithmetic.
#ifndef FERRY_REFERENCE_ROUND_H
#define FERRY_REFERENCE_ROUND_H

#include <cstdint>

#include "ferry/abi/types.h"

namespace ferry::reference {

/// The value that a tensor of `dtype` has where `value` was stored in it.
double round_to(ferry_dtype dtype, double value);

/// The distance between the numbers of a floating dtype at `value`.
double ulp_at(ferry_dtype dtype, double value);

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_ROUND_H
