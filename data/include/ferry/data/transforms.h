// SPDX-License-Identifier: Apache-2.0
//
// Transforms of images: uint8 tensors [channels, height, width] on the CPU, as
// the data sets give them, until to_tensor() makes floats of them.
//
// Each is a Transform: from one thread or several, depending on the generator
// alone. InvalidArgument where an image has another dtype, device or number of
// dimensions, or is too small.
#ifndef FERRY_DATA_TRANSFORMS_H
#define FERRY_DATA_TRANSFORMS_H

#include <cstdint>
#include <vector>

#include "ferry/data/dataset.h"

namespace ferry::data {

/// The image at `height` x `width`, to the bit as Pillow's
/// Image.resize(..., BILINEAR): a triangle filter, widened where the image
/// shrinks, in fixed point, rows before columns. The image itself where nothing
/// changes.
FERRY_API Tensor resize_image(const Tensor& image, int64_t height, int64_t width);

namespace transforms {

/// One after the other.
FERRY_API Transform compose(std::vector<Transform> steps);
/// See resize_image(). InvalidArgument at once for sizes outside [1, 65535].
FERRY_API Transform resize(int64_t height, int64_t width);
/// The shorter side becomes `size`, the other in proportion, rounded down.
FERRY_API Transform resize(int64_t size);
/// The middle; odd rests leave one more pixel at the top and left where half of
/// the rest rounds to even that way, as torchvision.
FERRY_API Transform center_crop(int64_t height, int64_t width);
/// Some rectangle of that size of the image with `padding` zeros on each side.
FERRY_API Transform random_crop(int64_t height, int64_t width, int64_t padding = 0);
FERRY_API Transform random_horizontal_flip(double p = 0.5);
FERRY_API Transform random_vertical_flip(double p = 0.5);
/// uint8 to float32 in [0, 1]: x / 255.
FERRY_API Transform to_tensor();
/// (x - mean[c]) / std[c] of float32 images; one value for each channel.
FERRY_API Transform normalize(std::vector<float> mean, std::vector<float> std);

}  // namespace transforms

}  // namespace ferry::data

#endif  // FERRY_DATA_TRANSFORMS_H
