// SPDX-License-Identifier: Apache-2.0
//
// First values of parameters.
#ifndef FERRY_NN_INIT_H
#define FERRY_NN_INIT_H

#include <cstdint>

#include "ferry/export.h"
#include "ferry/tensor.h"

namespace ferry {

/// Starts the random numbers of this process again: modules made afterwards, in
/// the same order, get the same first values on every device. Without a call
/// the seed is 0. Any thread. The values may change with Ferry's version.
FERRY_API void manual_seed(uint64_t seed);

namespace nn {

/// float32 on the default device, each value drawn uniformly from
/// [-bound, bound).
FERRY_API Tensor uniform(Sizes shape, double bound);
/// The same from the normal distribution of mean 0 and deviation 1.
FERRY_API Tensor normal(Sizes shape);

}  // namespace nn
}  // namespace ferry

#endif  // FERRY_NN_INIT_H
