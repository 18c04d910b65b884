// SPDX-License-Identifier: Apache-2.0
//
// Fused functions: tracing once for each combination of dtypes, then one launch
// a call.
#include "ferry/fuse.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "ferry/error.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"
#include "ops/reduce_program.h"
#include "ops/trace.h"

namespace ferry {

DType Expr::dtype() const { return trace_->dtype(*this); }
Expr Expr::to(DType dtype) const { return trace_->convert(*this, dtype); }

namespace {

ReducedExpr reduced(const Expr& x, ferry_reduce_op op, ShapeRef dims, bool keepdim) {
  return {x, op, Shape(dims.begin(), dims.end()), keepdim};
}

}  // namespace

ReducedExpr sum(const Expr& x, Sizes dims, bool keepdim) {
  return reduced(x, FERRY_REDUCE_SUM, dims, keepdim);
}
ReducedExpr prod(const Expr& x, Sizes dims, bool keepdim) {
  return reduced(x, FERRY_REDUCE_PROD, dims, keepdim);
}
ReducedExpr amax(const Expr& x, Sizes dims, bool keepdim) {
  return reduced(x, FERRY_REDUCE_MAX, dims, keepdim);
}
ReducedExpr amin(const Expr& x, Sizes dims, bool keepdim) {
  return reduced(x, FERRY_REDUCE_MIN, dims, keepdim);
}
ReducedExpr any(const Expr& x, Sizes dims, bool keepdim) {
  return reduced(x, FERRY_REDUCE_ANY, dims, keepdim);
}
ReducedExpr all(const Expr& x, Sizes dims, bool keepdim) {
  return reduced(x, FERRY_REDUCE_ALL, dims, keepdim);
}

namespace detail {

Expr trace_op(uint16_t code, std::span<const ExprOperand> operands) {
  for (const ExprOperand& o : operands) {
    if (o.expr != nullptr) return Trace::of(*o.expr).apply(code, operands);
  }
  throw InvalidArgument("fuse", "an operation on numbers alone");
}

struct FusedFunction::Cache {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const FusedProgram>> programs;
};

FusedFunction::FusedFunction(Body body, ReducedBody reduced)
    : body_(std::move(body)), reduced_(std::move(reduced)), cache_(std::make_shared<Cache>()) {}

std::shared_ptr<const FusedProgram> FusedFunction::program_for(
    std::span<const Tensor> inputs) const {
  std::string key;
  for (const Tensor& t : inputs) {
    const TensorImpl& impl = impl_of(t, "fuse");
    key += static_cast<char>('a' + static_cast<int>(impl.dtype));
    key += impl.ndim == 0 ? '0' : 'n';
  }
  const std::lock_guard lock(cache_->mutex);
  std::shared_ptr<const FusedProgram>& known = cache_->programs[key];
  if (known != nullptr) return known;
  Trace trace;
  std::vector<Expr> values;
  for (const Tensor& t : inputs) values.push_back(trace.input(t.dtype(), t.dim() == 0));
  if (reduced_) {
    const ReducedExpr result = reduced_(values);
    const std::shared_ptr<FusedProgram> made = trace.finish({&result.value, 1});
    made->reduction = {result.op, result.dims, result.keepdim};
    known = made;
  } else {
    known = trace.finish(body_(values));
  }
  return known;
}

namespace {

/// The device of the inputs with dimensions. A 0-dim tensor of the CPU goes to
/// where the others are, as in single operations.
runtime::DeviceState& place_inputs(std::span<Tensor> inputs) {
  runtime::DeviceState* device = nullptr;
  for (const Tensor& t : inputs) {
    runtime::DeviceState* own = t.impl()->storage->device;
    const bool weak = t.impl()->ndim == 0 && own->device().is_cpu();
    if (device == nullptr && !weak) device = own;
  }
  if (device == nullptr) device = inputs[0].impl()->storage->device;
  for (Tensor& t : inputs) {
    if (t.impl()->storage->device == device) continue;
    if (t.impl()->ndim != 0 || !t.device().is_cpu()) {
      throw InvalidArgument("fuse", "operands are on different devices: " + device->device().str() +
                                        " and " + t.device().str() + "; move them with to()");
    }
    t = t.to(device->device());
  }
  return *device;
}

}  // namespace

std::vector<Tensor> FusedFunction::run(std::span<const Tensor> inputs) const {
  const std::shared_ptr<const FusedProgram> fused = program_for(inputs);
  std::vector<Tensor> in(inputs.begin(), inputs.end());
  runtime::DeviceState& device = place_inputs(in);
  std::vector<ShapeRef> shapes;
  for (const Tensor& t : in) shapes.push_back(t.impl()->shape());
  const Shape shape = ops::broadcast_shapes(shapes, "fuse");
  for (Tensor& t : in) t = ops::expand_to(t, shape, "fuse");
  if (fused->reduction) {
    const FusedProgram::Reduction& r = *fused->reduction;
    return {ops::reduce_program("fuse", static_cast<ferry_reduce_op>(r.op), in, fused->program(),
                                fused->dtypes()[0], r.dims, r.keepdim)};
  }
  std::vector<Tensor> out;
  for (const DType dtype : fused->dtypes()) {
    out.push_back(make_empty(device, dtype, shape, "fuse"));
  }
  if (out[0].impl()->numel > 0) {
    ops::launch(device, {"fuse", ops::Family::kMap, in, out, nullptr, &fused->program()});
  }
  return out;
}

std::string FusedFunction::text(std::span<const Tensor> inputs) const {
  return program_for(inputs)->text();
}

}  // namespace detail
}  // namespace ferry
