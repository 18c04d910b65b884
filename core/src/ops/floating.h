// SPDX-License-Identifier: Apache-2.0
//
// What functions for floating dtypes share.
#ifndef FERRY_OPS_FLOATING_H
#define FERRY_OPS_FLOATING_H

#include <string>

#include "ferry/error.h"
#include "ferry/tensor.h"

namespace ferry::ops {

/// InvalidArgument naming `where` and the dtype.
inline void require_floating(DType dtype, const char* where) {
  if (is_floating_point(dtype)) return;
  throw InvalidArgument(
      where, "not defined for " + std::string(name(dtype)) + "; convert with to(ferry::kF32)");
}

/// Halves in f32, in which squares and means keep their places.
inline Tensor widened(const Tensor& x) {
  return x.dtype() == kF16 || x.dtype() == kBF16 ? x.to(kF32) : x;
}

/// "[2, 3] and [3]".
inline std::string both_shapes(const Tensor& a, const Tensor& b) {
  return to_string(a.shape()) + " and " + to_string(b.shape());
}

}  // namespace ferry::ops

#endif  // FERRY_OPS_FLOATING_H
