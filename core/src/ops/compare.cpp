// SPDX-License-Identifier: Apache-2.0
//
// equal() and allclose(): one answer for two tensors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ops/map_builder.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

bool same_shape(const TensorImpl& a, const TensorImpl& b) {
  return std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end());
}

}  // namespace

bool equal(const Tensor& a, const Tensor& b) {
  const TensorImpl& left = impl_of(a, "equal");
  const TensorImpl& right = impl_of(b, "equal");
  ops::common_device({&a, &b}, "equal");
  return same_shape(left, right) && all(eq(a, b)).item<bool>();
}

bool allclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  const TensorImpl& left = impl_of(a, "allclose");
  const TensorImpl& right = impl_of(b, "allclose");
  runtime::DeviceState& device = ops::common_device({&a, &b}, "allclose");
  if (!(rtol >= 0) || !(atol >= 0)) {
    throw InvalidArgument("allclose", "rtol " + std::to_string(rtol) + " and atol " +
                                          std::to_string(atol) + " must not be negative");
  }
  if (!same_shape(left, right)) return false;
  // f32 holds neither f64 nor i64 exactly.
  const auto narrow = [](DType d) { return d != kF64 && d != kI64 && d != kI32; };
  ops::MapBuilder p(narrow(left.dtype) && narrow(right.dtype) ? kF32 : kF64);
  const ops::Reg x = p.input(a);
  const ops::Reg y = p.input(b);
  const ops::Reg same = p.step(FERRY_OP_EQ, {x, y});
  const ops::Reg error = p.step(FERRY_OP_ABS, {p.step(FERRY_OP_SUB, {x, y})});
  const ops::Reg size = p.step(FERRY_OP_ABS, {y});
  const ops::Reg relative = p.step(FERRY_OP_MUL, {size, p.constant(rtol)});
  const ops::Reg allowed = p.step(FERRY_OP_ADD, {relative, p.constant(atol)});
  const ops::Reg within = p.step(FERRY_OP_LE, {error, allowed});
  // An infinite error is within an infinite allowance, but not close.
  const ops::Reg infinity = p.constant(std::numeric_limits<double>::infinity());
  const ops::Reg finite = p.step(FERRY_OP_LT, {error, infinity});
  ops::Reg close = p.step(FERRY_OP_LOGICAL_AND, {within, finite});
  close = p.step(FERRY_OP_LOGICAL_OR, {close, same});
  if (equal_nan) {
    const ops::Reg both =
        p.step(FERRY_OP_LOGICAL_AND, {p.step(FERRY_OP_ISNAN, {x}), p.step(FERRY_OP_ISNAN, {y})});
    close = p.step(FERRY_OP_LOGICAL_OR, {close, both});
  }
  const Tensor answer = detail::make_empty(device, kBool, left.shape(), "allclose");
  p.run("allclose", device, close, answer);
  return all(answer).item<bool>();
}

}  // namespace ferry
