// SPDX-License-Identifier: Apache-2.0
//
// layer_norm, rms_norm, group_norm and instance_norm as functions.
#include <algorithm>
#include <string>

#include "ferry/functional.h"
#include "ops/floating.h"
#include "ops/map_builder.h"
#include "ops/norm_rows.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

using detail::TensorImpl;

/// Checks x and the parameters; the dimensions to normalise over.
Shape rows_of(const char* name, const Tensor& x, ShapeRef sizes, const Tensor& weight,
              const Tensor& bias) {
  const TensorImpl& impl = detail::impl_of(x, name);
  ops::require_floating(impl.dtype, name);
  ops::common_device({&x, &weight, &bias}, name);
  const ShapeRef own = impl.shape();
  if (sizes.empty() || own.size() < sizes.size() ||
      !std::equal(sizes.rbegin(), sizes.rend(), own.rbegin())) {
    throw InvalidArgument(name,
                          "x " + to_string(own) + " does not end in the sizes " + to_string(sizes));
  }
  for (const Tensor* t : {&weight, &bias}) {
    if (t->defined() && t->shape() != Shape(sizes.begin(), sizes.end())) {
      throw InvalidArgument(
          name, "weight and bias must be " + to_string(sizes) + ", not " + to_string(t->shape()));
    }
  }
  Shape dims;
  for (size_t d = 0; d < sizes.size(); ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  return dims;
}

/// out * weight + bias in the wide dtype, then as x is.
Tensor finished(Tensor out, const Tensor& weight, const Tensor& bias, DType dtype) {
  if (weight.defined()) out = out * weight;
  if (bias.defined()) out = out + bias;
  return out.to(dtype);
}

/// x [N, C, d...] with each of N * groups parts normalised.
Tensor group_normalised(const char* name, const Tensor& x, int64_t groups, const Tensor& weight,
                        const Tensor& bias, double eps) {
  const TensorImpl& impl = *x.impl();
  const int64_t channels = impl.shape_[1];
  for (const Tensor* t : {&weight, &bias}) {
    if (t->defined() && (t->dim() != 1 || t->size(0) != channels)) {
      throw InvalidArgument(name, "weight and bias must be [" + std::to_string(channels) +
                                      "], not " + to_string(t->shape()));
    }
  }
  if (impl.numel == 0) return empty_like(x);
  const int64_t parts = impl.shape_[0] * groups;
  const Tensor wide = ops::widened(x).reshape({parts, impl.numel / parts});
  const Tensor centred = wide - mean(wide, {1}, true);
  const Tensor out = centred * rsqrt(mean(square(centred), {1}, true) + eps);
  Shape per_channel(impl.ndim - 1, 1);
  per_channel[0] = channels;
  const auto shaped = [&](const Tensor& t) { return t.defined() ? t.reshape(per_channel) : t; };
  return finished(out.reshape(impl.shape()), shaped(weight), shaped(bias), impl.dtype);
}

}  // namespace

Tensor layer_norm(const Tensor& x, Sizes normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const Shape dims = rows_of("layer_norm", x, normalized_shape, weight, bias);
  if (x.numel() == 0) return empty_like(x);
  if (Tensor out = empty_like(x);
      ops::try_layer_norm(out, x, weight, bias, dims.size(), eps, false)) {
    return out;
  }
  const Tensor wide = ops::widened(x);
  const Tensor centred = wide - mean(wide, dims, true);
  return finished(centred * rsqrt(mean(square(centred), dims, true) + eps), weight, bias,
                  x.dtype());
}

Tensor rms_norm(const Tensor& x, Sizes normalized_shape, const Tensor& weight, double eps) {
  const Shape dims = rows_of("rms_norm", x, normalized_shape, weight, {});
  if (x.numel() == 0) return empty_like(x);
  if (Tensor out = empty_like(x); ops::try_layer_norm(out, x, weight, {}, dims.size(), eps, true)) {
    return out;
  }
  const Tensor wide = ops::widened(x);
  return finished(wide * rsqrt(mean(square(wide), dims, true) + eps), weight, {}, x.dtype());
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const TensorImpl& impl = detail::impl_of(x, "group_norm");
  ops::require_floating(impl.dtype, "group_norm");
  ops::common_device({&x, &weight, &bias}, "group_norm");
  if (impl.ndim < 2 || groups < 1 || impl.shape_[1] % groups != 0) {
    throw InvalidArgument("group_norm", "x must be [N, C, ...] with C divided by " +
                                            std::to_string(groups) + " groups, and is " +
                                            to_string(impl.shape()));
  }
  return group_normalised("group_norm", x, groups, weight, bias, eps);
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const TensorImpl& impl = detail::impl_of(x, "instance_norm");
  ops::require_floating(impl.dtype, "instance_norm");
  ops::common_device({&x, &weight, &bias}, "instance_norm");
  if (impl.ndim < 3) {
    throw InvalidArgument("instance_norm",
                          "x must be [N, C, ...] with something to normalise "
                          "over, and is " +
                              to_string(impl.shape()));
  }
  return group_normalised("instance_norm", x, impl.shape_[1], weight, bias, eps);
}

}  // namespace ferry
