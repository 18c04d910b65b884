// SPDX-License-Identifier: Apache-2.0
//
// The table of scalar ops and their type rules.
#include "ops/op_rules.h"

#include <iterator>
#include <string>

#include "ferry/abi/program.h"
#include "ferry/error.h"

namespace ferry::ops {
namespace {

constexpr OpInfo kOps[] = {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  {#name, Rule::rule, arity},
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

}  // namespace

const OpInfo& op_info(uint16_t code) noexcept { return kOps[code]; }

DType result_type(const OpInfo& op, DType common) noexcept {
  switch (op.rule) {
    case Rule::BOOL:
      return kBool;
    case Rule::FLOAT:
      return is_floating_point(common) ? common : kF32;
    default:
      return common;
  }
}

void refuse_dtype(uint16_t code, DType common) {
  const OpInfo& op = op_info(code);
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

}  // namespace ferry::ops
