// SPDX-License-Identifier: Apache-2.0
//
// Normalisation of rows by a kernel of its own, for the layers that have it.
#ifndef FERRY_OPS_NORM_ROWS_H
#define FERRY_OPS_NORM_ROWS_H

#include <cstddef>

#include "ferry/tensor.h"

namespace ferry::ops {

/// layer_norm/1 over the last `dims` dimensions of x into `out`, of the same
/// shape and dtype, where the device has that kernel for the call; else false,
/// and nothing happened. weight and bias may be undefined.
[[nodiscard]] bool try_layer_norm(const Tensor& out, const Tensor& x, const Tensor& weight,
                                  const Tensor& bias, size_t dims, double eps, bool rms);

}  // namespace ferry::ops

#endif  // FERRY_OPS_NORM_ROWS_H
