// SPDX-License-Identifier: Apache-2.0
//
// Triangles, diagonals and sequences.
#include <string>

#include "ferry/abi/program.h"
#include "ferry/error.h"
#include "ferry/ops.h"
#include "ferry/shape_ops.h"
#include "ops/map_builder.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

/// bool [rows, columns]: op(column, row + diagonal).
Tensor triangle(Tensor (*op)(const Tensor&, const Tensor&), int64_t rows, int64_t columns,
                int64_t diagonal, const Device& device) {
  // Beyond the corners nothing changes, and the sum below cannot overflow.
  const int64_t offset = diagonal < -rows ? -rows : diagonal > columns ? columns : diagonal;
  const TensorOptions options(device);
  const Tensor row = arange(offset, rows + offset, 1, options).unsqueeze(1);
  return op(arange(0, columns, 1, options), row);
}

Tensor keep_triangle(const char* where, Tensor (*op)(const Tensor&, const Tensor&), const Tensor& x,
                     int64_t diagonal) {
  const TensorImpl& impl = impl_of(x, where);
  if (impl.ndim < 2) {
    throw InvalidArgument(where,
                          "needs at least 2 dimensions, not shape " + to_string(impl.shape()));
  }
  const Tensor kept = triangle(op, x.size(-2), x.size(-1), diagonal, x.device());
  // A number of the tensor's kind leaves the dtype as it is.
  const Scalar zero = impl.dtype == kBool ? Scalar(false) : Scalar(0);
  return ferry::where(kept, x, zero);
}

Tensor below_or_on(const Tensor& a, const Tensor& b) { return le(a, b); }
Tensor above_or_on(const Tensor& a, const Tensor& b) { return ge(a, b); }
Tensor on(const Tensor& a, const Tensor& b) { return eq(a, b); }

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) {
  return keep_triangle("tril", below_or_on, x, diagonal);
}

Tensor triu(const Tensor& x, int64_t diagonal) {
  return keep_triangle("triu", above_or_on, x, diagonal);
}

Tensor eye(int64_t n, int64_t m, TensorOptions options) {
  const int64_t columns = m == -1 ? n : m;
  if (n < 0 || columns < 0) {
    throw InvalidArgument("eye", "sizes " + std::to_string(n) + " and " + std::to_string(m) +
                                     "; neither may be negative");
  }
  Tensor out = empty({n, columns}, options);
  return out.copy_(triangle(on, n, columns, 0, out.device()));
}

Tensor linspace(Scalar start, Scalar end, int64_t steps, TensorOptions options) {
  if (steps < 0) {
    throw InvalidArgument("linspace", std::to_string(steps) + " steps; none may be negative");
  }
  Tensor out = empty({steps}, options);
  if (steps == 0) return out;
  if (steps == 1) return out.fill_(start);
  // From both ends, so that each is met exactly.
  const double first = start.to_double();
  const double last = end.to_double();
  ops::MapBuilder program(kF64);
  const ops::Reg i = program.step(FERRY_OP_INDEX, {});
  const ops::Reg step = program.constant((last - first) / static_cast<double>(steps - 1));
  const ops::Reg up =
      program.step(FERRY_OP_ADD, {program.constant(first), program.step(FERRY_OP_MUL, {i, step})});
  const ops::Reg left = program.step(FERRY_OP_SUB, {program.constant(steps - 1), i});
  const ops::Reg down = program.step(
      FERRY_OP_SUB, {program.constant(last), program.step(FERRY_OP_MUL, {left, step})});
  const ops::Reg half = program.step(FERRY_OP_LT, {i, program.constant(steps / 2)});
  const ops::Reg value = program.step(FERRY_OP_WHERE, {half, up, down});
  program.run("linspace", *out.impl()->storage->device, value, out);
  return out;
}

Tensor diag(const Tensor& x, int64_t diagonal) {
  const TensorImpl& impl = impl_of(x, "diag");
  if (impl.ndim == 2) return ferry::diagonal(x, diagonal).clone();
  if (impl.ndim != 1) {
    throw InvalidArgument("diag",
                          "of a vector or a matrix, not of shape " + to_string(impl.shape()));
  }
  int64_t n = 0;
  const bool too_large =
      diagonal == INT64_MIN ||
      __builtin_add_overflow(impl.numel, diagonal < 0 ? -diagonal : diagonal, &n);
  if (too_large) throw InvalidArgument("diag", "diagonal " + std::to_string(diagonal));
  Tensor out = zeros({n, n}, TensorOptions(impl.dtype, x.device()));
  ferry::diagonal(out, diagonal).copy_(x);
  return out;
}

Tensor one_hot(const Tensor& classes, int64_t num_classes) {
  const TensorImpl& impl = impl_of(classes, "one_hot");
  if (impl.dtype != kI64 && impl.dtype != kI32) {
    throw InvalidArgument(
        "one_hot", "the classes must be int64 or int32, not " + std::string(name(impl.dtype)));
  }
  if (impl.numel == 0 && num_classes < 1) {
    throw InvalidArgument("one_hot", "without elements the number of classes must be given");
  }
  Shape shape(impl.shape().begin(), impl.shape().end());
  int64_t count = num_classes;
  if (impl.numel > 0) {
    const auto least = amin(classes).item<int64_t>();
    const auto most = amax(classes).item<int64_t>();
    if (count == -1) count = most == INT64_MAX ? most : most + 1;
    if (least < 0 || most >= count) {
      throw InvalidArgument("one_hot", "class " + std::to_string(least < 0 ? least : most) +
                                           " is outside 0.." + std::to_string(count - 1));
    }
  }
  shape.push_back(count);
  const Tensor numbers = arange(0, count, 1, TensorOptions(classes.device()));
  return eq(classes.unsqueeze(-1), numbers).to(kI64);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  const TensorImpl& left = impl_of(a, "outer");
  const TensorImpl& right = impl_of(b, "outer");
  if (left.ndim != 1 || right.ndim != 1) {
    throw InvalidArgument("outer", "of two vectors, not of shapes " + to_string(left.shape()) +
                                       " and " + to_string(right.shape()));
  }
  return mul(a.unsqueeze(1), b);
}

}  // namespace ferry
