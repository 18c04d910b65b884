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
/// Floating dtypes: the nearest number m * 2^(e - p + 1) with |m| < 2^p, e >=
/// e_min, ties to even m; infinity beyond the largest; (p, e_min) is (11, -14)
/// for f16, (8, -126) for bf16, (24, -126) for f32. Integers: trunc(value), then
/// modulo 2^bits where it fits i64, else the dtype's nearest bound; NaN gives 0.
/// bool: 1 where value is not 0.
double round_to(ferry_dtype dtype, double value);

/// An integer as a tensor of an integer dtype holds it: modulo 2^bits. |value|
/// is below 2^64, and whole.
int64_t wrap_to(ferry_dtype dtype, long double value);

/// The distance between the numbers of a floating dtype at `value`: 2^(e - p + 1)
/// where 2^e <= |value| < 2^(e + 1), at least that of the subnormal numbers.
double ulp_at(ferry_dtype dtype, double value);

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_ROUND_H
