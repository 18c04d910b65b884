// SPDX-License-Identifier: Apache-2.0
//
// Filling with a value whose bytes are all the same, 0 above all: without a
// kernel, where the device can.
#ifndef FERRY_OPS_BYTE_FILL_H
#define FERRY_OPS_BYTE_FILL_H

#include "ferry/dtype.h"
#include "tensor/tensor_impl.h"

namespace ferry::ops {

/// Sets every element of a tensor that is not empty to `value`, by the device's
/// own fill. False, and nothing has changed for good, where the elements have
/// gaps, the bytes differ, or the device cannot or would not.
bool try_byte_fill(const detail::TensorImpl& impl, Scalar value);

}  // namespace ferry::ops

#endif  // FERRY_OPS_BYTE_FILL_H
