// SPDX-License-Identifier: Apache-2.0
//
// Reductions of the judge.
#ifndef FERRY_REFERENCE_REDUCE_H
#define FERRY_REFERENCE_REDUCE_H

#include "ferry/abi/kernel.h"
#include "reference/array.h"

namespace ferry::reference {

/// Over the dimensions in the bits of `axes`, which keep size 1.
///   SUM      sum of x_i, compensated (Neumaier): right to the last place
///   PROD     product of x_i
///   MAX MIN  the extreme x_i, NaN where one is NaN
///   ANY ALL  1 where some, every x_i is not 0, and NaN is not 0; else 0
///   ARGMAX ARGMIN  the first i whose x_i is the extreme, NaN being it
/// Only SUM, PROD, ANY and ALL are defined over nothing: 0, 1, 0, 1.
Array reduce(ferry_reduce_op op, const Array& x, uint32_t axes);

/// exp(x_i - m) / sum_j exp(x_j - m) along a dimension, m the largest; or its
/// logarithm, x_i - m - log(sum_j exp(x_j - m)).
Array softmax(const Array& x, size_t dim, bool logarithm);

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_REDUCE_H
