// SPDX-License-Identifier: Apache-2.0
//
// BatchNorm2d and LayerNorm.
#include "ferry/nn/norm.h"

#include <fmt/format.h>

#include <algorithm>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "nn/repr.h"
#include "ops/norm_rows.h"

namespace ferry::nn {
namespace {

/// Halves in f32, in which squares and means keep their places.
Tensor widened(const Tensor& x) { return x.dtype() == kF16 || x.dtype() == kBF16 ? x.to(kF32) : x; }

void require_floating(const Tensor& x, const char* where) {
  if (is_floating_point(x.dtype())) return;
  throw InvalidArgument(
      where, "not defined for " + std::string(name(x.dtype())) + "; convert with to(ferry::kF32)");
}

}  // namespace

BatchNorm2d::BatchNorm2d(int64_t num_features, BatchNorm2dOptions options)
    : features_(num_features), options_(options) {
  if (options_.affine) {
    weight = Parameter(ones({features_}));
    bias = Parameter(zeros({features_}));
  }
  if (options_.track_running_stats) {
    running_mean = Buffer(zeros({features_}));
    running_var = Buffer(ones({features_}));
    num_batches_tracked = Buffer(zeros({}, kI64));
  }
}

Tensor BatchNorm2d::forward(const Tensor& x) const {
  if (x.dim() != 4 || x.size(1) != features_) {
    throw InvalidArgument("BatchNorm2d", fmt::format("x must be [N, {}, H, W], not {}", features_,
                                                     to_string(x.shape())));
  }
  require_floating(x, "BatchNorm2d");
  if (is_training() || !running_mean.defined()) return normalise_batch(x);
  return batch_norm(x, running_mean, running_var, weight, bias, options_.eps);
}

Tensor BatchNorm2d::normalise_batch(const Tensor& x) const {
  const int64_t count = x.size(0) * x.size(2) * x.size(3);
  if (count < 2 && is_training()) {
    throw InvalidArgument("BatchNorm2d",
                          fmt::format("training needs more than one value a channel, and x is {}; "
                                      "call eval() to use the running statistics",
                                      to_string(x.shape())));
  }
  const Tensor wide = widened(x);
  const Tensor mean = ferry::mean(wide, {0, 2, 3}, true);
  const Tensor variance = ferry::mean(square(wide - mean), {0, 2, 3});
  Tensor out = batch_norm(x, mean.flatten(), variance, weight, bias, options_.eps);
  if (is_training() && running_mean.defined()) track(mean.flatten(), variance, count);
  return out;
}

void BatchNorm2d::track(const Tensor& mean, const Tensor& variance, int64_t count) const {
  const Tensor batches = num_batches_tracked + 1;
  const double part = options_.momentum ? *options_.momentum : 1.0 / batches.item<double>();
  const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
  const Tensor next_mean = running_mean * (1 - part) + mean * part;
  const Tensor next_var = running_var * (1 - part) + variance * (part * unbiased);
  running_mean.copy_(next_mean);
  running_var.copy_(next_var);
  num_batches_tracked.copy_(batches);
}

std::string BatchNorm2d::extra_repr() const {
  return fmt::format("{}, eps={}, momentum={}, affine={}, track_running_stats={}", features_,
                     repr(options_.eps), options_.momentum ? repr(*options_.momentum) : "None",
                     repr(options_.affine), repr(options_.track_running_stats));
}

LayerNorm::LayerNorm(Sizes normalized_shape, LayerNormOptions options) : options_(options) {
  const ShapeRef sizes = normalized_shape;
  shape_.assign(sizes.begin(), sizes.end());
  if (shape_.empty()) throw InvalidArgument("LayerNorm", "normalized_shape has no dimensions");
  if (!options_.elementwise_affine) return;
  weight = Parameter(ones(shape_));
  if (options_.bias) bias = Parameter(zeros(shape_));
}

LayerNorm::LayerNorm(int64_t size, LayerNormOptions options) : LayerNorm(Sizes{size}, options) {}

Tensor LayerNorm::forward(const Tensor& x) const {
  const Shape sizes = x.shape();
  if (sizes.size() < shape_.size() || !std::equal(shape_.rbegin(), shape_.rend(), sizes.rbegin())) {
    throw InvalidArgument("LayerNorm", fmt::format("x must end in the sizes {}, and is {}",
                                                   to_string(shape_), to_string(sizes)));
  }
  require_floating(x, "LayerNorm");
  if (Tensor out = empty_like(x);
      ops::try_layer_norm(out, x, weight, bias, shape_.size(), options_.eps, false)) {
    return out;
  }
  Shape dims;
  for (size_t d = 0; d < shape_.size(); ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor wide = widened(x);
  const Tensor centred = wide - mean(wide, dims, true);
  const Tensor variance = mean(square(centred), dims, true);
  Tensor out = centred * rsqrt(variance + options_.eps);
  if (weight.defined()) out = out * weight;
  if (bias.defined()) out = out + bias;
  return out.to(x.dtype());
}

std::string LayerNorm::extra_repr() const {
  std::string sizes = fmt::format("({}", shape_[0]);
  for (size_t d = 1; d < shape_.size(); ++d) sizes += fmt::format(", {}", shape_[d]);
  return fmt::format("{}{}), eps={}, elementwise_affine={}", sizes, shape_.size() == 1 ? "," : "",
                     repr(options_.eps), repr(options_.elementwise_affine));
}

}  // namespace ferry::nn
