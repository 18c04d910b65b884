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

namespace ferry::detail {
namespace {

enum class Rule : uint8_t { NONE, SAME, FLOAT, BOOL, INT, WHERE };
struct OpInfo {
  const char* name;
  Rule rule;
};

constexpr OpInfo kOps[] = {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) {#name, Rule::rule},
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
};

// The list's codes are its positions.
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) code,
constexpr int kCodes[] = {
#include "ferry/abi/scalar_ops.def"
};
#undef FERRY_SCALAR_OP
consteval bool codes_are_positions() {
  for (int i = 0; i < static_cast<int>(std::size(kCodes)); ++i) {
    if (kCodes[i] != i) return false;
  }
  return true;
}
static_assert(codes_are_positions(), "scalar_ops.def: codes must count up from 0");

/// PyTorch's promotion: tensors with dimensions decide within their kind;
/// 0-dim tensors, then numbers, only raise the kind.
class Promotion {
 public:
  void add_tensor(DType dtype, bool zero_dim) { fold(zero_dim ? zero_ : dims_, dtype); }
  void add_number(DType kind) {
    fold(number_, kind == kF64 ? kF32 : kind);  // numbers default to f32
  }
  DType result() const {
    DType out = kBool;
    bool any = false;
    for (const Slot& slot : {dims_, zero_, number_}) {
      if (!slot.used) continue;
      if (!any) {
        out = slot.dtype;
      } else if (kind(slot.dtype) > kind(out)) {
        out = slot.dtype;
      }
      any = true;
    }
    return out;
  }

 private:
  struct Slot {
    DType dtype = kBool;
    bool used = false;
  };
  static void fold(Slot& slot, DType dtype) {
    slot.dtype = slot.used ? promote_types(slot.dtype, dtype) : dtype;
    slot.used = true;
  }
  static int kind(DType d) { return is_floating_point(d) ? 2 : d == kBool ? 0 : 1; }

  Slot dims_, zero_, number_;
};

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

DType result_type(const OpInfo& op, DType common) {
  switch (op.rule) {
    case Rule::BOOL:
      return kBool;
    case Rule::FLOAT:
      return is_floating_point(common) ? common : kF32;
    default:
      return common;
  }
}

/// What PyTorch refuses, too: the result would not be what is meant.
void refuse_dtype(const OpInfo& op, uint16_t code, DType common) {
  if (op.rule == Rule::INT && is_floating_point(common)) {
    throw InvalidArgument(op.name, "defined for integers and bool, not for " +
                                       std::string(name(common)) + "; convert with to()");
  }
  if (common != kBool) return;
  if (code == FERRY_OP_BITWISE_LEFT_SHIFT || code == FERRY_OP_BITWISE_RIGHT_SHIFT) {
    throw InvalidArgument(op.name, "not defined for bool; convert with to()");
  }
  if (op.rule != Rule::SAME) return;
  if (code == FERRY_OP_SUB || code == FERRY_OP_NEG) {
    throw InvalidArgument(op.name, "bool tensors have no subtraction; use ne or logical_not");
  }
  if (code != FERRY_OP_ADD && code != FERRY_OP_MUL && code != FERRY_OP_MAXIMUM &&
      code != FERRY_OP_MINIMUM) {
    throw InvalidArgument(op.name, "not defined for bool; convert with to()");
  }
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
  ops::launch(device,
              {kOps[code].name, ops::Family::kMap, in.tensors(), {&out, 1}, nullptr, &program});
}

}  // namespace

Tensor elementwise(uint16_t code, std::span<const Operand> operands) {
  const OpInfo& op = kOps[code];
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
  refuse_dtype(op, code, common);
  // Of the one bit that a bool has.
  if (common == kBool && code == FERRY_OP_BITWISE_NOT) code = FERRY_OP_LOGICAL_NOT;
  const DType dtype = result_type(op, common);
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
