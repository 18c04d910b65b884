// SPDX-License-Identifier: Apache-2.0
//
// The geometry that convolution and pooling share: three spatial dimensions,
// of which missing ones have size 1.
#ifndef FERRY_SIM_WINDOW_H
#define FERRY_SIM_WINDOW_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace ferry::sim {

struct Axis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// Input position of kernel element k for output o; may lie outside.
  int64_t at(int64_t o, int64_t k) const noexcept { return o * stride - padding + k * dilation; }
  bool inside(int64_t position) const noexcept { return position >= 0 && position < in; }
  /// The outputs first..last-1 whose element k lies inside the input.
  std::pair<int64_t, int64_t> outputs_inside(int64_t k) const noexcept {
    const int64_t shift = padding - k * dilation;  // output o reads o * stride - shift
    const int64_t first = shift > 0 ? (shift + stride - 1) / stride : 0;
    const int64_t last = in + shift > 0 ? (in + shift - 1) / stride + 1 : 0;
    return {first, std::min(last, out)};
  }
  /// Elements of window o that lie in the padded input.
  int64_t padded(int64_t o) const noexcept {
    const int64_t begin = o * stride - padding;
    return std::min(begin + kernel, in + padding) - begin;
  }
};
using Axes = std::array<Axis, 3>;

/// From the attributes and the shapes [.., .., spatial...] of input and output.
template <class Attr>
Axes axes_of(const Attr& attr, const int64_t* in_shape, const int64_t* out_shape,
             const int64_t* kernel) {
  Axes axes;
  for (uint32_t d = 0; d < attr.spatial; ++d) {
    Axis& axis = axes[3 - attr.spatial + d];
    axis = {in_shape[d + 2], out_shape[d + 2], kernel[d],
            attr.stride[d],  attr.padding[d],  attr.dilation[d]};
  }
  return axes;
}

}  // namespace ferry::sim

#endif  // FERRY_SIM_WINDOW_H
