// SPDX-License-Identifier: Apache-2.0
//
// to() for those who move many tensors and wait once.
#ifndef FERRY_OPS_MOVE_H
#define FERRY_OPS_MOVE_H

#include "ferry/tensor.h"

namespace ferry::ops {

/// As Tensor::to(), but a copy between host and device is under way on return,
/// from and to ordinary memory too. The caller keeps the elements of `tensor`
/// unchanged until the current streams of both devices were waited for.
Tensor begin_to(const Tensor& tensor, const Device& device, DType dtype, bool copy);

}  // namespace ferry::ops

#endif  // FERRY_OPS_MOVE_H
