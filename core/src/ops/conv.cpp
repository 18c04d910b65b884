// SPDX-License-Identifier: Apache-2.0
//
// Convolution and pooling: checks, output sizes, launch.
#include <algorithm>
#include <string>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

/// Keeps every product of two of them inside 64 bits.
constexpr int64_t kMost = int64_t{1} << 31;

void require_range(const char* where, const char* what, const std::array<int64_t, 2>& values,
                   int64_t least) {
  for (const int64_t v : values) {
    if (v >= least && v < kMost) continue;
    throw InvalidArgument(where, std::string(what) + " " + to_string(values) +
                                     " must be at least " + std::to_string(least) +
                                     " and below 2^31");
  }
}

/// x as [N, C, H, W]; one image [C, H, W] is a batch of one.
Tensor as_batch(const Tensor& x, const char* where) {
  const TensorImpl& impl = impl_of(x, where);
  if (impl.ndim != 4 && impl.ndim != 3) {
    throw InvalidArgument(where,
                          "x must be [N, C, H, W] or [C, H, W], not " + to_string(impl.shape()));
  }
  return impl.ndim == 3 ? x.unsqueeze(0) : x;
}

void require_floating(const TensorImpl& impl, const char* where) {
  if (is_floating_point(impl.dtype)) return;
  throw InvalidArgument(
      where, "not defined for " + std::string(name(impl.dtype)) + "; convert with to(ferry::kF32)");
}

/// How far the last window may begin, or negative where none fits.
int64_t room_for_windows(int64_t size, int64_t kernel, int64_t padding, int64_t dilation) {
  return size + 2 * padding - dilation * (kernel - 1) - 1;
}

[[noreturn]] void throw_no_window(const char* where, const TensorImpl& x, int64_t d,
                                  int64_t kernel) {
  throw InvalidArgument(where, "a kernel of size " + std::to_string(kernel) +
                                   " does not fit dimension " + std::to_string(d) + " of x " +
                                   to_string(x.shape()) + " with its padding and dilation");
}

Tensor pool2d(const char* where, uint32_t op, const Tensor& input, const Pool2dOptions& o) {
  const Tensor x = as_batch(input, where);
  const TensorImpl& impl = *x.impl();
  require_floating(impl, where);
  require_range(where, "kernel", o.kernel, 1);
  require_range(where, "stride", o.stride, 0);
  require_range(where, "padding", o.padding, 0);
  require_range(where, "dilation", o.dilation, 1);
  ferry_pool_attr attr{};
  attr.size = sizeof attr;
  attr.spatial = 2;
  attr.op = op;
  attr.count_include_pad = o.count_include_pad ? 1 : 0;
  Shape shape(impl.shape().begin(), impl.shape().end());
  for (size_t d = 0; d < 2; ++d) {
    const int64_t stride = o.stride[d] == 0 ? o.kernel[d] : o.stride[d];
    if (o.padding[d] > o.kernel[d] / 2) {
      throw InvalidArgument(where, "padding " + to_string(o.padding) +
                                       " is more than half of kernel " + to_string(o.kernel));
    }
    const int64_t room =
        room_for_windows(impl.shape_[d + 2], o.kernel[d], o.padding[d], o.dilation[d]);
    if (room < 0) throw_no_window(where, impl, static_cast<int64_t>(d) + 2, o.kernel[d]);
    int64_t windows = room / stride + 1;
    // With ceil_mode a last, partial window, unless it begins in the padding.
    if (o.ceil_mode && room % stride != 0 && windows * stride < impl.shape_[d + 2] + o.padding[d]) {
      ++windows;
    }
    shape[d + 2] = windows;
    attr.kernel[d] = o.kernel[d];
    attr.stride[d] = stride;
    attr.padding[d] = o.padding[d];
    attr.dilation[d] = o.dilation[d];
  }
  Tensor out = detail::make_empty(*impl.storage->device, impl.dtype, shape, where);
  if (out.numel() > 0) {
    ops::launch(*impl.storage->device, {where, ops::Family::kPool, {&x, 1}, {&out, 1}, &attr});
  }
  return input.dim() == 3 ? out.squeeze(0) : out;
}

void check_conv(const TensorImpl& x, const Tensor& weight, const Tensor& bias,
                const Conv2dOptions& o) {
  const TensorImpl& w = *weight.impl();
  require_floating(x, "conv2d");
  if (w.ndim != 4) {
    throw InvalidArgument(
        "conv2d", "the weight must be [O, C / groups, kH, kW], not " + to_string(w.shape()));
  }
  require_range("conv2d", "stride", o.stride, 1);
  require_range("conv2d", "padding", o.padding, 0);
  require_range("conv2d", "dilation", o.dilation, 1);
  if (o.groups < 1 || w.shape_[0] % o.groups != 0 || o.groups > kMost ||
      w.shape_[1] * o.groups != x.shape_[1] || x.shape_[1] == 0) {
    throw InvalidArgument("conv2d", "weight " + to_string(w.shape()) + " with " +
                                        std::to_string(o.groups) + " groups does not fit the " +
                                        std::to_string(x.shape_[1]) + " channels of x " +
                                        to_string(x.shape()));
  }
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != w.shape_[0])) {
    throw InvalidArgument("conv2d", "the bias must be [" + std::to_string(w.shape_[0]) + "], not " +
                                        to_string(bias.impl()->shape()));
  }
}

}  // namespace

Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& o) {
  const Tensor x = as_batch(input, "conv2d");
  const TensorImpl& w = impl_of(weight, "conv2d");
  runtime::DeviceState& device = ops::common_device({&x, &weight, &bias}, "conv2d");
  ops::require_same_dtype(x, weight, "conv2d");
  if (bias.defined()) ops::require_same_dtype(x, bias, "conv2d");
  const TensorImpl& impl = *x.impl();
  check_conv(impl, weight, bias, o);
  ferry_conv_attr attr{};
  attr.size = sizeof attr;
  attr.spatial = 2;
  attr.groups = o.groups;
  Shape shape = {impl.shape_[0], w.shape_[0], 0, 0};
  for (size_t d = 0; d < 2; ++d) {
    const int64_t kernel = w.shape_[d + 2];
    const int64_t room =
        kernel < 1 || kernel >= kMost
            ? -1
            : room_for_windows(impl.shape_[d + 2], kernel, o.padding[d], o.dilation[d]);
    if (room < 0) throw_no_window("conv2d", impl, static_cast<int64_t>(d) + 2, kernel);
    shape[d + 2] = room / o.stride[d] + 1;
    attr.stride[d] = o.stride[d];
    attr.padding[d] = o.padding[d];
    attr.dilation[d] = o.dilation[d];
  }
  Tensor out = detail::make_empty(device, impl.dtype, shape, "conv2d");
  if (out.numel() > 0) {
    const Tensor in[] = {x, weight, bias};
    ops::launch(device,
                {"conv2d", ops::Family::kConv, {in, bias.defined() ? 3u : 2u}, {&out, 1}, &attr});
  }
  return input.dim() == 3 ? out.squeeze(0) : out;
}

Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options) {
  return pool2d("max_pool2d", FERRY_POOL_MAX, x, options);
}

Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options) {
  if (options.dilation != std::array<int64_t, 2>{1, 1}) {
    throw InvalidArgument("avg_pool2d", "dilation " + to_string(options.dilation) +
                                            " is not supported; it must be [1, 1]");
  }
  return pool2d("avg_pool2d", FERRY_POOL_AVERAGE, x, options);
}

}  // namespace ferry
