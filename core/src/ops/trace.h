// SPDX-License-Identifier: Apache-2.0
//
// Trace: records what the body of a fused function does with its values, and
// makes a map program of it.
#ifndef FERRY_OPS_TRACE_H
#define FERRY_OPS_TRACE_H

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ferry/abi/program.h"
#include "ferry/fuse.h"

namespace ferry::detail {

/// A finished program, which points into itself.
class FusedProgram {
 public:
  const ferry_program& program() const noexcept { return program_; }
  /// Of each output.
  const std::vector<DType>& dtypes() const noexcept { return dtypes_; }
  const std::string& text() const noexcept { return text_; }
  /// Set where the one output is reduced.
  struct Reduction {
    uint32_t op;
    Shape dims;
    bool keepdim;
  };
  std::optional<Reduction> reduction;

 private:
  friend class Trace;
  std::vector<ferry_constant> constants_;
  std::vector<ferry_insn> insns_;
  std::vector<uint16_t> out_;
  std::vector<DType> dtypes_;
  ferry_program program_{};
  std::string text_;
};

/// Of one run of a body.
class Trace {
 public:
  /// Values that a program can have at most, inputs and numbers included.
  static constexpr size_t kMost = 250;

  Expr input(DType dtype, bool zero_dim);
  Expr apply(uint16_t code, std::span<const ExprOperand> operands);
  Expr convert(const Expr& value, DType dtype);
  std::shared_ptr<FusedProgram> finish(std::span<const Expr> results) const;

  static Trace& of(const Expr& e) noexcept { return *e.trace_; }
  DType dtype(const Expr& e) const { return nodes_[e.node_].dtype; }

 private:
  enum class Kind : uint8_t { kInput, kNumber, kStep, kAlias };
  struct Node {
    Kind kind;
    uint16_t op = 0;
    std::array<uint16_t, 3> args{};
    DType dtype = kF32;
    DType compute = kF32;  ///< of a step
    bool zero_dim = false;
    bool result_only = false;  ///< rounding that happens where it is stored
    Scalar value = 0;
  };

  uint16_t add(const Node& node);
  uint16_t number(Scalar value);
  uint16_t operand(const ExprOperand& o, const char* where);
  uint16_t source(uint16_t node) const noexcept;
  DType compute_dtype(const std::vector<bool>& used) const;
  std::vector<bool> used_by(std::span<const Expr> results) const;

  std::vector<Node> nodes_;
  size_t inputs_ = 0;
};

}  // namespace ferry::detail

#endif  // FERRY_OPS_TRACE_H
