// SPDX-License-Identifier: Apache-2.0
//
// Reductions: which dimensions, the result's shape and dtype, and what the
// reduction of nothing is.
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"
#include "ops/reduce_program.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

struct Plan {
  uint32_t axes = 0;
  Shape kept;     ///< reduced dimensions have size 1
  Shape dropped;  ///< without them
  bool of_nothing = false;
};

Plan plan_of(const TensorImpl& impl, ShapeRef dims, const char* where) {
  Plan plan;
  for (const int64_t d : dims) {
    const uint32_t bit = 1u << detail::wrap_dim(d, impl.ndim, where);
    if ((plan.axes & bit) != 0) {
      throw InvalidArgument(
          where, "dimension " + std::to_string(d) + " is named twice in " + to_string(dims));
    }
    plan.axes |= bit;
  }
  if (dims.empty()) plan.axes = (1u << impl.ndim) - 1;
  for (size_t d = 0; d < impl.ndim; ++d) {
    const bool reduced = (plan.axes >> d & 1) != 0;
    plan.kept.push_back(reduced ? 1 : impl.shape_[d]);
    if (!reduced) plan.dropped.push_back(impl.shape_[d]);
    plan.of_nothing = plan.of_nothing || (reduced && impl.shape_[d] == 0);
  }
  return plan;
}

/// The reduction of in[0], or of a program over all of `in`, which have one
/// shape, into a fresh tensor of `dtype`; `nothing` is the result over an empty
/// dimension, if there is one.
Tensor reduce(const char* where, ferry_reduce_op op, std::span<const Tensor> in, const Plan& plan,
              DType dtype, bool keepdim, std::optional<Scalar> nothing,
              const ferry_program* program = nullptr) {
  const TensorImpl& impl = *in[0].impl();
  Tensor out = detail::make_empty(*impl.storage->device, dtype, plan.kept, where);
  if (plan.of_nothing && !nothing && out.numel() > 0) {
    throw InvalidArgument(where, "a dimension of shape " + to_string(impl.shape()) +
                                     " is empty, and the " + where + " of nothing is not defined");
  }
  if (out.numel() > 0 && impl.numel == 0) {
    out.fill_(*nothing);
  } else if (out.numel() > 0) {
    // The kernels know no 0-dim tensors to reduce: one of one element is the same.
    const bool zero_dim = impl.ndim == 0;
    std::vector<Tensor> views;
    for (size_t i = 0; zero_dim && i < in.size(); ++i) views.push_back(in[i].view({1}));
    if (zero_dim) in = views;
    const Tensor to = zero_dim ? out.view({1}) : out;
    const ferry_reduce_attr attr = {sizeof(ferry_reduce_attr), static_cast<uint32_t>(op),
                                    zero_dim ? 1u : plan.axes, 0};
    ops::launch(*impl.storage->device, {where, ops::Family::kReduce, in, {&to, 1}, &attr, program});
  }
  return keepdim ? out : out.view(plan.dropped);
}

DType sum_type(DType dtype) { return is_floating_point(dtype) ? dtype : kI64; }

/// The result over nothing, where there is one.
std::optional<Scalar> of_nothing(ferry_reduce_op op) {
  switch (op) {
    case FERRY_REDUCE_SUM:
      return 0;
    case FERRY_REDUCE_PROD:
      return 1;
    case FERRY_REDUCE_ANY:
      return false;
    case FERRY_REDUCE_ALL:
      return true;
    default:
      return {};
  }
}

Tensor arg_reduce(const char* where, ferry_reduce_op op, const Tensor& x,
                  std::optional<int64_t> dim, bool keepdim) {
  const TensorImpl& impl = impl_of(x, where);
  if (dim) {
    const int64_t dims[] = {*dim};
    return reduce(where, op, {&x, 1}, plan_of(impl, dims, where), kI64, keepdim, {});
  }
  const Tensor flat = x.reshape({impl.numel});
  const int64_t dims[] = {0};
  Tensor out = reduce(where, op, {&flat, 1}, plan_of(*flat.impl(), dims, where), kI64, false, {});
  return keepdim ? out.view(Shape(impl.ndim, 1)) : out;
}

}  // namespace

Tensor ops::reduce_program(const char* where, ferry_reduce_op op, std::span<const Tensor> in,
                           const ferry_program& program, DType dtype, ShapeRef dims, bool keepdim) {
  const Plan plan = plan_of(*in[0].impl(), dims, where);
  const bool adds = op == FERRY_REDUCE_SUM || op == FERRY_REDUCE_PROD;
  const bool tests = op == FERRY_REDUCE_ANY || op == FERRY_REDUCE_ALL;
  const DType result = tests ? kBool : adds ? sum_type(dtype) : dtype;
  return reduce(where, op, in, plan, result, keepdim, of_nothing(op), &program);
}

Tensor sum(const Tensor& x, Sizes dims, bool keepdim) {
  const Plan plan = plan_of(impl_of(x, "sum"), dims, "sum");
  return reduce("sum", FERRY_REDUCE_SUM, {&x, 1}, plan, sum_type(x.dtype()), keepdim, 0);
}

Tensor prod(const Tensor& x, Sizes dims, bool keepdim) {
  const Plan plan = plan_of(impl_of(x, "prod"), dims, "prod");
  return reduce("prod", FERRY_REDUCE_PROD, {&x, 1}, plan, sum_type(x.dtype()), keepdim, 1);
}

Tensor mean(const Tensor& x, Sizes dims, bool keepdim) {
  const TensorImpl& impl = impl_of(x, "mean");
  if (!is_floating_point(impl.dtype)) {
    throw InvalidArgument("mean", "of " + std::string(name(impl.dtype)) +
                                      " is not defined; convert with to(ferry::kF32)");
  }
  const Plan plan = plan_of(impl, dims, "mean");
  int64_t count = 1;
  for (size_t d = 0; d < impl.ndim; ++d) {
    if ((plan.axes >> d & 1) != 0) count *= impl.shape_[d];
  }
  // Halves are summed into f32, so that the sum cannot overflow before the division.
  const DType wide = ops::compute_type(impl.dtype);
  const Tensor total = reduce("mean", FERRY_REDUCE_SUM, {&x, 1}, plan, wide, keepdim, 0);
  Tensor out = detail::make_empty(*impl.storage->device, impl.dtype, total.impl()->shape(), "mean");
  ops::MapBuilder program(wide);
  const ops::Reg in = program.input(total);
  const ops::Reg quotient = program.step(FERRY_OP_DIV, {in, program.constant(count)});
  program.run("mean", *impl.storage->device, quotient, out);
  return out;
}

Tensor amax(const Tensor& x, Sizes dims, bool keepdim) {
  const Plan plan = plan_of(impl_of(x, "amax"), dims, "amax");
  return reduce("amax", FERRY_REDUCE_MAX, {&x, 1}, plan, x.dtype(), keepdim, {});
}

Tensor amin(const Tensor& x, Sizes dims, bool keepdim) {
  const Plan plan = plan_of(impl_of(x, "amin"), dims, "amin");
  return reduce("amin", FERRY_REDUCE_MIN, {&x, 1}, plan, x.dtype(), keepdim, {});
}

Tensor any(const Tensor& x, Sizes dims, bool keepdim) {
  const Plan plan = plan_of(impl_of(x, "any"), dims, "any");
  return reduce("any", FERRY_REDUCE_ANY, {&x, 1}, plan, kBool, keepdim, false);
}

Tensor all(const Tensor& x, Sizes dims, bool keepdim) {
  const Plan plan = plan_of(impl_of(x, "all"), dims, "all");
  return reduce("all", FERRY_REDUCE_ALL, {&x, 1}, plan, kBool, keepdim, true);
}

Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_reduce("argmax", FERRY_REDUCE_ARGMAX, x, dim, keepdim);
}

Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg_reduce("argmin", FERRY_REDUCE_ARGMIN, x, dim, keepdim);
}

}  // namespace ferry
