// SPDX-License-Identifier: Apache-2.0
//
// ConvShape: the sizes of a conv/1 call, and its two serial implementations'
// entry points.
#ifndef FERRY_CPU_CONV_SHAPE_H
#define FERRY_CPU_CONV_SHAPE_H

#include <array>
#include <cstdint>

#include "ferry/abi/kernel.h"

namespace ferry::cpu {

/// Sizes of a convolution over dense tensors. Of the arrays the first `spatial`
/// elements count; the others are as of a dimension of size 1.
struct ConvShape {
  using Sizes = std::array<int64_t, 3>;

  int64_t batch, channels, outputs, groups;
  int64_t spatial;
  Sizes in, kernel, out, stride, padding, dilation;
  int64_t has_bias;

  bool operator==(const ConvShape&) const = default;

  int64_t in_area() const noexcept { return in[0] * in[1] * in[2]; }
  int64_t out_area() const noexcept { return out[0] * out[1] * out[2]; }
  int64_t kernel_area() const noexcept { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t group_channels() const noexcept { return channels / groups; }
  int64_t group_outputs() const noexcept { return outputs / groups; }
  /// Multiplications for one image.
  int64_t image_products() const noexcept {
    return outputs * out_area() * group_channels() * kernel_area();
  }
};

/// Where the dense tensors of a call lie; bias is null where there is none.
struct ConvData {
  const void* x;
  const void* weight;
  const void* bias;
  void* out;
};

/// f32 by oneDNN, on several threads. False, and nothing done, where oneDNN has
/// no fast implementation. The bits do not depend on the number of threads.
/// Throws std::bad_alloc and dnnl::error.
bool conv_onednn(const ConvShape& shape, const ConvData& data);

/// f32 or f64 as matrix products of the weights and patches of x, on several
/// threads; any shape. Throws as multiply() does.
void conv_patches(ferry_dtype dtype, const ConvShape& shape, const ConvData& data);

}  // namespace ferry::cpu

#endif  // FERRY_CPU_CONV_SHAPE_H
