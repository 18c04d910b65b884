// SPDX-License-Identifier: Apache-2.0
//
// conv1d, max_pool1d and conv_transpose2d, all by the kernels for two
// dimensions.
#include <string>
#include <vector>

#include "ferry/functional.h"
#include "ops/floating.h"
#include "ops/map_builder.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

/// [..., C, L] as an image of height 1.
Tensor as_image(const Tensor& x, const char* name) {
  const detail::TensorImpl& impl = detail::impl_of(x, name);
  if (impl.ndim != 2 && impl.ndim != 3) {
    throw InvalidArgument(name, "x must be [N, C, L] or [C, L], not " + to_string(impl.shape()));
  }
  return x.unsqueeze(-2);
}

constexpr const char* kTranspose = "conv_transpose2d";

void check_transpose(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const ConvTranspose2dOptions& o) {
  const detail::TensorImpl& impl = detail::impl_of(x, kTranspose);
  const detail::TensorImpl& w = detail::impl_of(weight, kTranspose);
  ops::require_floating(impl.dtype, kTranspose);
  ops::common_device({&x, &weight, &bias}, kTranspose);
  ops::require_same_dtype(x, weight, kTranspose);
  if (impl.ndim != 4 || w.ndim != 4 || o.groups < 1 || w.shape_[0] != impl.shape_[1] ||
      w.shape_[0] % o.groups != 0 || w.shape_[0] == 0 || w.shape_[2] < 1 || w.shape_[3] < 1) {
    throw InvalidArgument(kTranspose, "x [N, C, H, W] and weight [C, O / groups, kH, kW] with " +
                                          std::to_string(o.groups) + " groups do not fit " +
                                          ops::both_shapes(x, weight));
  }
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t s = o.stride[d], p = o.padding[d], extra = o.output_padding[d];
    const int64_t wide = o.dilation[d];
    if (s < 1 || s >= kMost || p < 0 || p >= kMost || wide < 1 || wide >= kMost || extra < 0 ||
        (extra >= s && extra >= wide)) {
      throw InvalidArgument(kTranspose,
                            "stride " + to_string(o.stride) + ", padding " + to_string(o.padding) +
                                ", dilation " + to_string(o.dilation) + " or output_padding " +
                                to_string(o.output_padding) +
                                " is out of range; the last must be below stride or dilation");
    }
  }
}

/// weight [C, O / g, kH, kW] as conv2d's [O, C / g, kH, kW], turned by 180 degrees.
Tensor turned(const Tensor& weight, int64_t groups) {
  Tensor w = weight;
  for (int64_t d = 2; d < 4; ++d) {
    if (w.size(d) == 1) continue;
    w = index_select(w, d, arange(w.size(d) - 1, -1, -1, w.device()));
  }
  const int64_t in = w.size(0) / groups, out = w.size(1), h = w.size(2), k = w.size(3);
  return w.view({groups, in, out, h, k}).permute({0, 2, 1, 3, 4}).reshape({groups * out, in, h, k});
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& o) {
  const Tensor image = as_image(x, "conv1d");
  if (detail::impl_of(weight, "conv1d").ndim != 3) {
    throw InvalidArgument(
        "conv1d", "the weight must be [O, C / groups, k], not " + to_string(weight.shape()));
  }
  const Conv2dOptions options{{1, o.stride}, {0, o.padding}, {1, o.dilation}, o.groups};
  return conv2d(image, weight.unsqueeze(-2), bias, options).squeeze(-2);
}

Tensor max_pool1d(const Tensor& x, const Pool1dOptions& o) {
  Pool2dOptions options;
  options.kernel = {1, o.kernel};
  options.stride = {1, o.stride};
  options.padding = {0, o.padding};
  options.dilation = {1, o.dilation};
  options.ceil_mode = o.ceil_mode;
  return max_pool2d(as_image(x, "max_pool1d"), options).squeeze(-2);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& o) {
  check_transpose(x, weight, bias, o);
  // The input's elements stand `stride` apart among zeros, with a border that
  // the kernel reaches over; an ordinary convolution of that, then its middle.
  Shape spread = x.shape();
  std::array<int64_t, 2> border{}, size{};
  for (size_t d = 0; d < 2; ++d) {
    const int64_t in = spread[d + 2], kernel = weight.size(static_cast<int64_t>(d) + 2);
    border[d] = o.dilation[d] * (kernel - 1);
    const int64_t covered = in < 1 ? 0 : (in - 1) * o.stride[d] + 1;
    size[d] = covered - 2 * o.padding[d] + border[d] + o.output_padding[d];
    if (covered == 0 || size[d] < 1) {
      throw InvalidArgument(kTranspose, "x " + to_string(x.shape()) + " with padding " +
                                            to_string(o.padding) + " leaves nothing");
    }
    spread[d + 2] = covered + 2 * border[d] + o.output_padding[d];
  }
  const Tensor among_zeros = zeros(spread, {x.dtype(), x.device()});
  Tensor places = among_zeros;
  for (size_t d = 0; d < 2; ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    const int64_t covered = (x.size(dim) - 1) * o.stride[d] + 1;
    places = places.slice(dim, border[d], border[d] + covered, o.stride[d]);
  }
  places.copy_(x);
  Conv2dOptions options;
  options.dilation = o.dilation;
  options.groups = o.groups;
  Tensor out = conv2d(among_zeros, turned(weight, o.groups), bias, options);
  for (size_t d = 0; d < 2; ++d)
    out = out.narrow(static_cast<int64_t>(d) + 2, o.padding[d], size[d]);
  return out.contiguous();
}

}  // namespace ferry
