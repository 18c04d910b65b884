// SPDX-License-Identifier: Apache-2.0
//
// matmul() and linear(): PyTorch's shapes brought to one batched product.
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

std::string both_shapes(const Tensor& a, const Tensor& b) {
  return to_string(a.impl()->shape()) + " and " + to_string(b.impl()->shape());
}

/// a [..., m, k] times b [..., k, n] with equal batch dimensions, plus `bias`
/// (of a shape that broadcasts to the result) where it is defined.
Tensor product(const char* where, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const TensorImpl& left = *a.impl();
  const TensorImpl& right = *b.impl();
  runtime::DeviceState& device = *left.storage->device;
  Shape shape(left.shape().begin(), left.shape().end());
  shape.back() = right.shape_[right.ndim - 1];
  Tensor out = detail::make_empty(device, left.dtype, shape, where);
  if (out.numel() == 0) return out;
  const bool with_bias = bias.defined();
  if (left.shape_[left.ndim - 1] == 0) {
    return with_bias ? out.copy_(bias) : out.zero_();
  }
  if (!with_bias) {
    const Tensor in[] = {a, b};
    ops::launch(device, {where, ops::Family::kMatmul, in, {&out, 1}});
    return out;
  }
  const Tensor in[] = {a, b, ops::expand_to(bias, shape, where)};
  ops::MapBuilder epilogue(ops::compute_type(left.dtype));
  const ops::Reg sum = epilogue.step(FERRY_OP_ADD, {ops::kProduct, epilogue.input(in[2])});
  if (ops::try_launch(
          device, {where, ops::Family::kMatmul, in, {&out, 1}, nullptr, epilogue.finish(sum, 1)})) {
    return out;
  }
  ops::launch(device, {where, ops::Family::kMatmul, {in, 2}, {&out, 1}});
  return add(out, bias);
}

void require_operands(const char* where, const Tensor& a, const Tensor& b) {
  (void)impl_of(a, where);
  (void)impl_of(b, where);
  ops::common_device({&a, &b}, where);
  ops::require_same_dtype(a, b, where);
  if (a.dtype() == kBool) throw InvalidArgument(where, "not defined for bool; convert with to()");
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  require_operands("matmul", a, b);
  const TensorImpl& left = *a.impl();
  const TensorImpl& right = *b.impl();
  if (left.ndim == 0 || right.ndim == 0) {
    throw InvalidArgument("matmul", "0-dim operand in " + both_shapes(a, b) + "; use mul()");
  }
  const bool row = left.ndim == 1;
  const bool column = right.ndim == 1;
  const int64_t k = left.shape_[left.ndim - 1];
  const int64_t k_right = right.shape_[column ? 0 : right.ndim - 2];
  if (k != k_right) {
    throw InvalidArgument("matmul", "inner sizes differ: " + std::to_string(k) + " and " +
                                        std::to_string(k_right) + ", of shapes " +
                                        both_shapes(a, b));
  }
  Tensor x = row ? a.unsqueeze(0) : a;
  Tensor y = column ? b.unsqueeze(1) : b;
  const ShapeRef xs = x.impl()->shape();
  const ShapeRef ys = y.impl()->shape();
  Tensor out;
  if (ys.size() == 2 && xs.size() > 2 && x.impl()->contiguous) {
    // One matrix for all of the batch: a single product with more rows.
    Shape shape(xs.begin(), xs.end());
    shape.back() = ys[1];
    int64_t rows = 1;
    for (size_t d = 0; d + 1 < xs.size(); ++d) rows *= xs[d];
    out = product("matmul", x.view({rows, k}), y, {}).view(shape);
  } else {
    const ShapeRef batches[] = {xs.first(xs.size() - 2), ys.first(ys.size() - 2)};
    const Shape batch = ops::broadcast_shapes(batches, "matmul");
    const auto expanded = [&](const Tensor& t) {
      Shape shape = batch;
      shape.insert(shape.end(), t.impl()->shape().end() - 2, t.impl()->shape().end());
      return ops::expand_to(t, shape, "matmul");
    };
    out = product("matmul", expanded(x), expanded(y), {});
  }
  if (column) out = out.squeeze(-1);
  if (row) out = out.squeeze(column ? -1 : -2);
  return out;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require_operands("linear", x, weight);
  const TensorImpl& in = *x.impl();
  const TensorImpl& w = *weight.impl();
  if (w.ndim != 2) {
    throw InvalidArgument("linear", "the weight must be [out, in], not " + to_string(w.shape()));
  }
  if (in.ndim == 0 || in.shape_[in.ndim - 1] != w.shape_[1]) {
    throw InvalidArgument("linear", "the last size of x " + to_string(in.shape()) + " is not the " +
                                        std::to_string(w.shape_[1]) + " inputs of weight " +
                                        to_string(w.shape()));
  }
  if (bias.defined()) {
    require_operands("linear", x, bias);
    if (bias.dim() != 1 || bias.size(0) != w.shape_[0]) {
      throw InvalidArgument("linear", "the bias must be [" + std::to_string(w.shape_[0]) +
                                          "], not " + to_string(bias.impl()->shape()));
    }
  }
  Shape shape(in.shape().begin(), in.shape().end());
  shape.back() = w.shape_[0];
  const int64_t rows = w.shape_[1] == 0 || in.numel == 0 ? [&] {
    int64_t n = 1;
    for (size_t d = 0; d + 1 < in.ndim; ++d) n *= in.shape_[d];
    return n;
  }() : in.numel / w.shape_[1];
  return product("linear", x.reshape({rows, w.shape_[1]}), weight.t(), bias).view(shape);
}

}  // namespace ferry
