// SPDX-License-Identifier: Apache-2.0
//
// What the transforms check of an image.
#ifndef FERRY_DATA_IMAGE_H
#define FERRY_DATA_IMAGE_H

#include "ferry/tensor.h"

namespace ferry::data {

/// A contiguous [c, h, w] of that dtype on the CPU, or InvalidArgument from
/// `where`.
Tensor checked_image(const char* where, const Tensor& image, DType dtype);

}  // namespace ferry::data

#endif  // FERRY_DATA_IMAGE_H
