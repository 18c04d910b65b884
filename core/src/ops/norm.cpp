// SPDX-License-Identifier: Apache-2.0
//
// batch_norm, softmax and log_softmax, made of maps and reductions.
#include <array>
#include <string>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"
#include "ops/norm_rows.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

void require_floating(const TensorImpl& impl, const char* where) {
  if (is_floating_point(impl.dtype)) return;
  throw InvalidArgument(
      where, "not defined for " + std::string(name(impl.dtype)) + "; convert with to(ferry::kF32)");
}

/// exp(x - largest), in a type where the halves keep their places.
Tensor shifted_exp(const Tensor& x, const Tensor& largest, DType wide, const char* where) {
  const TensorImpl& impl = *x.impl();
  Tensor out = detail::make_empty(*impl.storage->device, wide, impl.shape(), where);
  ops::MapBuilder program(wide);
  const ops::Reg a = program.input(x);
  const ops::Reg shifted = program.step(FERRY_OP_SUB, {a, program.input(largest)});
  program.run(where, *impl.storage->device, program.step(FERRY_OP_EXP, {shifted}), out);
  return out;
}

/// softmax(x)_i = exp(x_i - m) / sum_j exp(x_j - m), m = max_j x_j; or its
/// logarithm, x_i - m - log(sum_j exp(x_j - m)).
Tensor softmax_of(const char* where, const Tensor& x, int64_t d, bool logarithm) {
  const TensorImpl& impl = impl_of(x, where);
  require_floating(impl, where);
  const int64_t dims[] = {detail::wrap_dim(d, impl.ndim, where)};
  runtime::DeviceState& device = *impl.storage->device;
  Tensor out = detail::make_empty(device, impl.dtype, impl.shape(), where);
  if (impl.numel == 0) return out;
  const ferry_softmax_attr attr{sizeof attr, static_cast<uint32_t>(dims[0]), logarithm ? 1u : 0u,
                                0};
  if (ops::try_launch(device, {where, ops::Family::kSoftmax, {&x, 1}, {&out, 1}, &attr})) {
    return out;
  }
  const DType wide = ops::compute_type(impl.dtype);
  const Tensor largest = amax(x, ShapeRef(dims), true);
  const Tensor powers = shifted_exp(x, largest, wide, where);
  const Tensor total = sum(powers, ShapeRef(dims), true);
  ops::MapBuilder program(wide);
  ops::Reg result;
  if (logarithm) {
    const ops::Reg a = program.input(x);
    const ops::Reg shifted = program.step(FERRY_OP_SUB, {a, program.input(largest)});
    const ops::Reg log_total = program.step(FERRY_OP_LOG, {program.input(total)});
    result = program.step(FERRY_OP_SUB, {shifted, log_total});
  } else {
    const ops::Reg a = program.input(powers);
    result = program.step(FERRY_OP_DIV, {a, program.input(total)});
  }
  program.run(where, device, result, out);
  return out;
}

}  // namespace

bool ops::try_layer_norm(const Tensor& out, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, size_t dims, double eps, bool rms) {
  std::array<Tensor, 3> in = {x};
  size_t n = 1;
  ferry_layer_norm_attr attr{sizeof attr, static_cast<uint32_t>(dims), 0, 0, eps};
  if (rms) attr.flags |= FERRY_LAYER_NORM_RMS;
  const auto add = [&](const Tensor& t, uint32_t flag) {
    if (!t.defined()) return;
    in[n++] = t;
    attr.flags |= flag;
  };
  add(weight, FERRY_LAYER_NORM_WEIGHT);
  add(bias, FERRY_LAYER_NORM_BIAS);
  runtime::DeviceState& device = *x.impl()->storage->device;
  for (const Tensor& t : in) {
    if (!t.defined()) continue;
    if (t.dtype() != x.dtype() || t.impl()->storage->device != &device) return false;
  }
  if (x.impl()->numel == 0) return false;
  return try_launch(device, {"layer_norm", Family::kLayerNorm, {in.data(), n}, {&out, 1}, &attr});
}

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, double eps) {
  const TensorImpl& impl = impl_of(x, "batch_norm");
  require_floating(impl, "batch_norm");
  if (impl.ndim < 2) {
    throw InvalidArgument("batch_norm", "x must have a dimension 1 of channels, not shape " +
                                            to_string(impl.shape()));
  }
  const int64_t channels = impl.shape_[1];
  runtime::DeviceState& device =
      ops::common_device({&x, &running_mean, &running_var, &weight, &bias}, "batch_norm");
  (void)impl_of(running_mean, "batch_norm");
  (void)impl_of(running_var, "batch_norm");
  for (const Tensor* t : {&running_mean, &running_var, &weight, &bias}) {
    if (t->defined() && (t->dim() != 1 || t->size(0) != channels)) {
      throw InvalidArgument("batch_norm", "statistics, weight and bias must be [" +
                                              std::to_string(channels) + "] for x " +
                                              to_string(impl.shape()) + ", not " +
                                              to_string(t->impl()->shape()));
    }
  }
  // A factor and a summand for each channel; then x needs one step of each.
  const DType wide = ops::compute_type(impl.dtype);
  const int64_t per_channel[] = {channels};
  const Tensor factor = detail::make_empty(device, wide, per_channel, "batch_norm");
  const Tensor summand = detail::make_empty(device, wide, per_channel, "batch_norm");
  {
    ops::MapBuilder program(wide);
    const ops::Reg variance = program.input(running_var);
    const ops::Reg safe = program.step(FERRY_OP_ADD, {variance, program.constant(eps)});
    ops::Reg f = program.step(FERRY_OP_RSQRT, {safe});
    if (weight.defined()) f = program.step(FERRY_OP_MUL, {f, program.input(weight)});
    program.run("batch_norm", device, f, factor);
  }
  {
    ops::MapBuilder program(wide);
    const ops::Reg mean = program.input(running_mean);
    const ops::Reg scaled = program.step(FERRY_OP_MUL, {mean, program.input(factor)});
    const ops::Reg s = bias.defined() ? program.step(FERRY_OP_SUB, {program.input(bias), scaled})
                                      : program.step(FERRY_OP_NEG, {scaled});
    program.run("batch_norm", device, s, summand);
  }
  Shape shape(impl.ndim - 1, 1);
  shape[0] = channels;
  Tensor out = detail::make_empty(device, impl.dtype, impl.shape(), "batch_norm");
  ops::MapBuilder program(wide);
  const ops::Reg a = program.input(x);
  const ops::Reg scaled = program.step(FERRY_OP_MUL, {a, program.input(factor.view(shape))});
  const ops::Reg result = program.step(FERRY_OP_ADD, {scaled, program.input(summand.view(shape))});
  program.run("batch_norm", device, result, out);
  return out;
}

Tensor softmax(const Tensor& x, int64_t dim) { return softmax_of("softmax", x, dim, false); }
Tensor log_softmax(const Tensor& x, int64_t dim) { return softmax_of("log_softmax", x, dim, true); }

}  // namespace ferry
