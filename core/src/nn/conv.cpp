// SPDX-License-Identifier: Apache-2.0
//
// Conv2d, MaxPool2d and AvgPool2d.
#include "ferry/nn/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ferry/error.h"
#include "ferry/nn/init.h"
#include "ferry/ops.h"
#include "nn/repr.h"

namespace ferry::nn {
namespace {

Pair stride_of(const Pair& stride, const Pair& kernel) {
  return {stride[0] == 0 ? kernel[0] : stride[0], stride[1] == 0 ? kernel[1] : stride[1]};
}

}  // namespace

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, Pair kernel, Conv2dOptions options)
    : in_(in_channels), out_(out_channels), kernel_(kernel), options_(options) {
  const int64_t groups = options_.groups;
  if (std::min({in_, out_, kernel_[0], kernel_[1], groups}) < 1) {
    throw InvalidArgument(
        "Conv2d", fmt::format("channels {} to {}, kernel {} and groups {} must be at least 1", in_,
                              out_, tuple(kernel_), groups));
  }
  if (in_ % groups != 0 || out_ % groups != 0) {
    throw InvalidArgument(
        "Conv2d", fmt::format("{} groups do not divide channels {} and {}", groups, in_, out_));
  }
  const Shape shape = {out_, in_ / groups, kernel_[0], kernel_[1]};
  const double fan_in = static_cast<double>(shape[1]) * static_cast<double>(kernel_[0]) *
                        static_cast<double>(kernel_[1]);
  const double bound = 1 / std::sqrt(fan_in);
  weight = Parameter(uniform(shape, bound));
  if (options_.bias) bias = Parameter(uniform({out_}, bound));
}

Tensor Conv2d::forward(const Tensor& x) const {
  const auto& [stride, padding, dilation, groups, has_bias] = options_;
  return conv2d(x, weight, bias, {stride, padding, dilation, groups});
}

std::string Conv2d::extra_repr() const {
  const Conv2dOptions& o = options_;
  std::string out =
      fmt::format("{}, {}, kernel_size={}, stride={}", in_, out_, tuple(kernel_), tuple(o.stride));
  if (o.padding != Pair(0)) out += ", padding=" + tuple(o.padding);
  if (o.dilation != Pair(1)) out += ", dilation=" + tuple(o.dilation);
  if (o.groups != 1) out += ", groups=" + std::to_string(o.groups);
  if (!bias.defined()) out += ", bias=False";
  return out;
}

MaxPool2d::MaxPool2d(Pair kernel, MaxPool2dOptions options) : kernel_(kernel), options_(options) {
  options_.stride = stride_of(options_.stride, kernel_);
}

Tensor MaxPool2d::forward(const Tensor& x) const {
  Pool2dOptions o{kernel_, options_.stride, options_.padding, options_.dilation};
  o.ceil_mode = options_.ceil_mode;
  return max_pool2d(x, o);
}

std::string MaxPool2d::extra_repr() const {
  const MaxPool2dOptions& o = options_;
  return fmt::format("kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={}",
                     repr(kernel_), repr(o.stride), repr(o.padding), repr(o.dilation),
                     repr(o.ceil_mode));
}

AvgPool2d::AvgPool2d(Pair kernel, AvgPool2dOptions options) : kernel_(kernel), options_(options) {
  options_.stride = stride_of(options_.stride, kernel_);
}

Tensor AvgPool2d::forward(const Tensor& x) const {
  Pool2dOptions o{kernel_, options_.stride, options_.padding};
  o.ceil_mode = options_.ceil_mode;
  o.count_include_pad = options_.count_include_pad;
  return avg_pool2d(x, o);
}

std::string AvgPool2d::extra_repr() const {
  return fmt::format("kernel_size={}, stride={}, padding={}", repr(kernel_), repr(options_.stride),
                     repr(options_.padding));
}

}  // namespace ferry::nn
