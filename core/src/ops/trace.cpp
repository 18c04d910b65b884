// SPDX-License-Identifier: Apache-2.0
//
// Trace: types as single operations have them, equal steps taken once, unused
// ones left out.
#include "ops/trace.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "ferry/error.h"
#include "ops/map_builder.h"
#include "ops/op_rules.h"

namespace ferry::detail {

using ops::OpInfo;
using ops::Rule;

uint16_t Trace::add(const Node& node) {
  // What is there already is not computed again.
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& known = nodes_[i];
    const bool same_value =
        node.kind != Kind::kNumber ||
        (known.value.kind() == node.value.kind() && known.value.to_int() == node.value.to_int() &&
         known.value.to_double() == node.value.to_double());
    if (known.kind == node.kind && node.kind != Kind::kInput && known.op == node.op &&
        known.args == node.args && known.dtype == node.dtype && same_value) {
      return static_cast<uint16_t>(i);
    }
  }
  if (nodes_.size() == kMost) {
    throw InvalidArgument(
        "fuse", "the function has more than " + std::to_string(kMost) + " values; cut it in two");
  }
  nodes_.push_back(node);
  return static_cast<uint16_t>(nodes_.size() - 1);
}

Expr Trace::input(DType dtype, bool zero_dim) {
  Node node{Kind::kInput};
  node.dtype = dtype;
  node.zero_dim = zero_dim;
  ++inputs_;
  return Expr(*this, add(node));
}

uint16_t Trace::number(Scalar value) {
  Node node{Kind::kNumber};
  node.dtype = value.kind();
  node.value = value;
  return add(node);
}

uint16_t Trace::operand(const ExprOperand& o, const char* where) {
  if (o.expr == nullptr) return number(o.scalar);
  if (o.expr->trace_ != this) {
    throw InvalidArgument(where, "a value of another fused function; hand it in as an argument");
  }
  if (nodes_[o.expr->node_].result_only) {
    throw InvalidArgument(where, "after to(" + std::string(name(nodes_[o.expr->node_].dtype)) +
                                     "), which rounds, a fused function goes no further; make "
                                     "that its result");
  }
  return o.expr->node_;
}

Expr Trace::apply(uint16_t code, std::span<const ExprOperand> operands) {
  const OpInfo& op = ops::op_info(code);
  Node node{Kind::kStep};
  ops::Promotion promotion;
  node.zero_dim = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    node.args[i] = operand(operands[i], op.name);
    const Node& from = nodes_[node.args[i]];
    if (op.rule == Rule::WHERE && i == 0) {
      if (operands[i].expr == nullptr || from.dtype != kBool) {
        throw InvalidArgument(op.name, "the condition must be bool");
      }
    } else if (operands[i].expr == nullptr) {
      promotion.add_number(from.dtype);
    } else {
      promotion.add_tensor(from.dtype, from.zero_dim);
    }
    if (operands[i].expr != nullptr) node.zero_dim = node.zero_dim && from.zero_dim;
  }
  const DType common = promotion.result();
  ops::refuse_dtype(code, common);
  const bool flips = common == kBool && code == FERRY_OP_BITWISE_NOT;
  node.op = flips ? static_cast<uint16_t>(FERRY_OP_LOGICAL_NOT) : code;
  node.dtype = ops::result_type(op, common);
  node.compute = ops::compute_type(op.rule == Rule::FLOAT ? node.dtype : common);
  if (common == kBool && op.rule != Rule::FLOAT) node.compute = kBool;  // right in any type
  return Expr(*this, add(node));
}

Expr Trace::convert(const Expr& value, DType dtype) {
  const uint16_t from = operand(value, "to");
  const Node& source = nodes_[from];
  if (source.dtype == dtype) return value;
  if (dtype == kBool) {
    const ExprOperand operands[] = {value, Scalar(0)};
    return apply(FERRY_OP_NE, operands);
  }
  Node node{Kind::kAlias};
  node.args[0] = from;
  node.dtype = dtype;
  node.zero_dim = source.zero_dim;
  const bool to_floating = is_floating_point(dtype);
  const bool widens = source.dtype == kBool || promote_types(source.dtype, dtype) == dtype;
  node.result_only = !to_floating && !widens;
  return Expr(*this, add(node));
}

uint16_t Trace::source(uint16_t node) const noexcept {
  while (nodes_[node].kind == Kind::kAlias) node = nodes_[node].args[0];
  return node;
}

std::vector<bool> Trace::used_by(std::span<const Expr> results) const {
  std::vector<bool> used(nodes_.size(), false);
  for (const Expr& e : results) used[e.node_] = true;
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    if (!used[i] || node.kind == Kind::kInput || node.kind == Kind::kNumber) continue;
    const size_t count =
        node.kind == Kind::kAlias ? 1 : static_cast<size_t>(ops::op_info(node.op).arity);
    for (size_t k = 0; k < count; ++k) used[node.args[k]] = true;
  }
  return used;
}

/// The widest of what its parts compute in.
DType Trace::compute_dtype(const std::vector<bool>& used) const {
  DType widest = kI32;
  const auto widen = [&](DType dtype) {
    const DType own = ops::compute_type(dtype);
    if (is_floating_point(own) != is_floating_point(widest)) {
      if (is_floating_point(own)) widest = own;
    } else if (item_size(own) > item_size(widest)) {
      widest = own;
    }
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (!used[i] || node.kind == Kind::kNumber) continue;
    widen(node.kind == Kind::kStep ? node.compute : node.dtype);
  }
  if (!is_floating_point(widest)) return widest;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (!used[i] || node.kind != Kind::kStep || node.compute == kBool) continue;
    if (is_floating_point(node.compute)) continue;
    throw InvalidArgument(ops::op_info(node.op).name,
                          "on integers beside floating values in one fused function, where it "
                          "would lose places; convert its operands with to() first");
  }
  return widest;
}

std::shared_ptr<FusedProgram> Trace::finish(std::span<const Expr> results) const {
  for (const Expr& e : results) {
    if (e.trace_ != this) throw InvalidArgument("fuse", "the result is not of this function");
  }
  const std::vector<bool> used = used_by(results);
  const DType compute = compute_dtype(used);
  auto out = std::make_shared<FusedProgram>();
  std::vector<uint16_t> reg(nodes_.size(), 0);
  uint16_t next = 0;
  std::string inputs, numbers, steps;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind != Kind::kInput) continue;
    reg[i] = next++;
    inputs += fmt::format("  %{} = input : {}\n", reg[i], name(nodes_[i].dtype));
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].kind != Kind::kNumber || !used[i]) continue;
    reg[i] = next++;
    ferry_constant constant{};
    if (is_floating_point(compute)) {
      constant.f = nodes_[i].value.to_double();
      numbers += fmt::format("  %{} = {}\n", reg[i], constant.f);
    } else {
      constant.i = nodes_[i].value.to_int();
      numbers += fmt::format("  %{} = {}\n", reg[i], constant.i);
    }
    out->constants_.push_back(constant);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.kind == Kind::kAlias) reg[i] = reg[source(static_cast<uint16_t>(i))];
    if (node.kind != Kind::kStep || !used[i]) continue;
    reg[i] = next++;
    const OpInfo& op = ops::op_info(node.op);
    ferry_insn insn{node.op, 0, {0, 0, 0, 0}, 0};
    steps += fmt::format("  %{} = {}", reg[i], op.name);
    for (int k = 0; k < op.arity; ++k) {
      insn.arg[k] = reg[node.args[static_cast<size_t>(k)]];
      steps += fmt::format(" %{}", insn.arg[k]);
    }
    steps += "\n";
    out->insns_.push_back(insn);
  }
  out->text_ = fmt::format("map in {}\n{}{}{}", name(compute), inputs, numbers, steps);
  for (const Expr& e : results) {
    out->out_.push_back(reg[e.node_]);
    out->dtypes_.push_back(nodes_[e.node_].dtype);
    out->text_ += fmt::format("  output %{} : {}\n", reg[e.node_], name(nodes_[e.node_].dtype));
  }
  out->program_ = {sizeof(ferry_program),
                   static_cast<ferry_dtype>(compute),
                   static_cast<uint32_t>(inputs_),
                   static_cast<uint32_t>(out->constants_.size()),
                   static_cast<uint32_t>(out->insns_.size()),
                   static_cast<uint32_t>(out->out_.size()),
                   out->constants_.data(),
                   out->insns_.data(),
                   out->out_.data()};
  return out;
}

}  // namespace ferry::detail
