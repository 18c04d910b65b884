// SPDX-License-Identifier: Apache-2.0
//
// Reductions of the judge.
#ifndef FERRY_REFERENCE_REDUCE_H
#define FERRY_REFERENCE_REDUCE_H

#include "ferry/abi/kernel.h"
#include "reference/array.h"

namespace ferry::reference {

/// Over the dimensions in the bits of `axes`, which keep size 1. Sums are
/// compensated (Neumaier), so that they are right to the last place of double.
Array reduce(ferry_reduce_op op, const Array& x, uint32_t axes);

/// exp(x_i - m) / sum_j exp(x_j - m) along a dimension, m the largest; or the
/// logarithm of it.
Array softmax(const Array& x, size_t dim, bool logarithm);

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_REDUCE_H
