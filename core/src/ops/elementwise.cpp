// SPDX-License-Identifier: Apache-2.0
//
// elementwise(): type rule, broadcasting and launch of one scalar op.
#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <string>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"
#include "ops/op_rules.h"

namespace ferry::detail {
namespace {

using ops::OpInfo;
using ops::Promotion;
using ops::Rule;

[[noreturn]] void throw_devices(const char* op, std::span<const Operand> operands) {
  std::string text = "operands are on different devices:";
  for (const Operand& o : operands) {
    if (o.tensor != nullptr) {
      text += " " + o.tensor->device().str() + " " + to_string(o.tensor->impl()->shape()) + ",";
    }
  }
  text.back() = '.';
  throw InvalidArgument(op, text +
                                " Move them with to(); of a module, tensors outside of "
                                "FERRY_MODULE are not moved");
}

/// The device that has an operand with dimensions, else the first's.
runtime::DeviceState& device_of(const char* op, std::span<const Operand> operands) {
  runtime::DeviceState* device = nullptr;
  runtime::DeviceState* first = nullptr;
  for (const Operand& o : operands) {
    if (o.tensor == nullptr) continue;
    const TensorImpl& impl = impl_of(*o.tensor, op);
    runtime::DeviceState* own = impl.storage->device;
    if (first == nullptr || (!own->device().is_cpu() && first->device().is_cpu())) first = own;
    if (impl.ndim == 0 && own->device().is_cpu()) continue;
    if (device != nullptr && device != own) throw_devices(op, operands);
    device = own;
  }
  if (device != nullptr) return *device;
  if (first != nullptr) return *first;
  throw InvalidArgument(op, "no operand is a tensor");
}

bool all_on(const runtime::DeviceState& device, std::span<const Operand> operands) {
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& o) {
    return o.tensor->impl()->storage->device == &device;
  });
}

/// Handles that take no count of the tensors, which outlive them: counting is a
/// good part of a small operation's time.
class Borrowed {
 public:
  void add(const Tensor& tensor) {
    // Never destroyed, so the count is not taken down either.
    new (bytes_ + n_++ * sizeof(Tensor)) Tensor(Tensor::adopt(tensor.impl()));
  }
  std::span<const Tensor> tensors() const {
    return {std::launder(reinterpret_cast<const Tensor*>(bytes_)), n_};
  }

 private:
  alignas(Tensor) std::byte bytes_[3 * sizeof(Tensor)];
  size_t n_ = 0;
};

/// One op on tensors of one shape and device: a program that needs no builder.
void launch_alone(uint16_t code, runtime::DeviceState& device, DType compute,
                  std::span<const Operand> operands, const Tensor& out) {
  Borrowed in;
  ferry_insn insn{code, 0, {0, 0, 0, 0}, 0};
  for (size_t i = 0; i < operands.size(); ++i) {
    in.add(*operands[i].tensor);
    insn.arg[i] = static_cast<uint16_t>(i);
  }
  const auto n_in = static_cast<uint16_t>(operands.size());
  const ferry_program program = {sizeof(ferry_program),
                                 static_cast<ferry_dtype>(compute),
                                 n_in,
                                 0,
                                 1,
                                 1,
                                 nullptr,
                                 &insn,
                                 &n_in};
  ops::launch(
      device,
      {ops::op_info(code).name, ops::Family::kMap, in.tensors(), {&out, 1}, nullptr, &program});
}

}  // namespace

Tensor elementwise(uint16_t code, std::span<const Operand> operands) {
  const OpInfo& op = ops::op_info(code);
  runtime::DeviceState& device = device_of(op.name, operands);
  Promotion promotion;
  std::array<ShapeRef, 3> shapes;
  size_t n_shapes = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor* t = operands[i].tensor;
    const bool condition = op.rule == Rule::WHERE && i == 0;
    if (condition && (t == nullptr || t->dtype() != kBool)) {
      throw InvalidArgument(op.name, "the condition must be a bool tensor");
    }
    if (t == nullptr) {
      promotion.add_number(operands[i].scalar.kind());
    } else {
      const TensorImpl& impl = *t->impl();
      shapes[n_shapes++] = impl.shape();
      if (!condition) promotion.add_tensor(impl.dtype, impl.ndim == 0);
    }
  }
  const DType common = promotion.result();
  ops::refuse_dtype(code, common);
  // Of the one bit that a bool has.
  if (common == kBool && code == FERRY_OP_BITWISE_NOT) code = FERRY_OP_LOGICAL_NOT;
  const DType dtype = ops::result_type(op, common);
  const DType compute = ops::compute_type(op.rule == Rule::FLOAT ? dtype : common);

  // Most calls have operands of one shape: no list of sizes is made for them.
  bool same = true;
  for (size_t i = 1; i < n_shapes; ++i) {
    same =
        same && std::equal(shapes[0].begin(), shapes[0].end(), shapes[i].begin(), shapes[i].end());
  }
  if (same && n_shapes == operands.size() && all_on(device, operands)) {
    Tensor out = make_empty(device, dtype, shapes[0], op.name);
    if (out.impl()->numel > 0) launch_alone(code, device, compute, operands, out);
    return out;
  }

  ops::MapBuilder program(compute);
  std::array<ops::Reg, 3> args;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor* t = operands[i].tensor;
    const bool foreign = t != nullptr && t->impl()->storage->device != &device;
    args[i] = t == nullptr ? program.constant(operands[i].scalar)
              : foreign    ? program.constant(t->item_scalar())
                           : program.input(*t);
  }
  const ops::Reg result = program.step(code, {args.data(), operands.size()});

  Tensor out = same
                   ? make_empty(device, dtype, shapes[0], op.name)
                   : make_empty(device, dtype,
                                ops::broadcast_shapes({shapes.data(), n_shapes}, op.name), op.name);
  program.run(op.name, device, result, out);
  return out;
}

}  // namespace ferry::detail
