// SPDX-License-Identifier: Apache-2.0
//
// MapBuilder: writes a map program step by step and runs it as one kernel.
#ifndef FERRY_OPS_MAP_BUILDER_H
#define FERRY_OPS_MAP_BUILDER_H

#include <array>
#include <span>

#include "ferry/abi/program.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry::ops {

/// A register of the program being built.
struct Reg {
  uint8_t kind;  ///< 0: input, 1: constant, 2: result of a step, 3: see kProduct
  uint8_t number;
};
/// The register before all inputs, where a matrix product is handed to a map.
inline constexpr Reg kProduct{3, 0};

/// For programs that the core itself writes: of bounded size, without checks
/// that a user would need.
class MapBuilder {
 public:
  /// `compute` is f32, f64, i32 or i64.
  explicit MapBuilder(DType compute) : compute_(compute) {}

  Reg input(const Tensor& tensor);
  Reg constant(Scalar value);
  Reg step(uint16_t op, std::initializer_list<Reg> args);
  Reg step(uint16_t op, std::span<const Reg> args);

  /// Stores `result` into `out`, whose shape every input broadcasts to. Nothing
  /// is launched for an empty `out`.
  void run(const char* op, runtime::DeviceState& device, Reg result, const Tensor& out);

  std::span<const Tensor> inputs() const noexcept { return {inputs_.data(), n_in_}; }

  /// The program with `result` as its output, for reduce/1 and matmul/1. Valid
  /// while the builder lives. `first_inputs` registers come before the inputs.
  const ferry_program* finish(Reg result, uint32_t first_inputs = 0);

 private:
  static constexpr size_t kMaxInputs = 8, kMaxConstants = 8, kMaxSteps = 16;

  DType compute_;
  std::array<Tensor, kMaxInputs> inputs_;
  std::array<ferry_constant, kMaxConstants> constants_;
  std::array<ferry_insn, kMaxSteps> insns_;
  std::array<std::array<Reg, 3>, kMaxSteps> args_;
  uint8_t n_in_ = 0, n_const_ = 0, n_insn_ = 0;
  uint16_t out_ = 0;
  ferry_program program_{};
};

/// The type that a program on tensors of `dtype` computes in.
inline DType compute_type(DType dtype) {
  if (dtype == kF64 || dtype == kI64) return dtype;
  return is_floating_point(dtype) ? kF32 : kI32;
}

/// `tensor` expanded to `shape` through strides of 0; itself when it has it.
Tensor expand_to(const Tensor& tensor, ShapeRef shape, const char* where);

/// The common shape of operands under broadcasting. InvalidArgument naming
/// `where` and both shapes.
Shape broadcast_shapes(std::span<const ShapeRef> shapes, const char* where);

/// The one device of `tensors` (undefined ones are skipped). InvalidArgument
/// naming `where`, each device and shape where they differ.
runtime::DeviceState& common_device(std::initializer_list<const Tensor*> tensors,
                                    const char* where);

/// dtypes agree, or InvalidArgument naming both.
void require_same_dtype(const Tensor& a, const Tensor& b, const char* where);

}  // namespace ferry::ops

#endif  // FERRY_OPS_MAP_BUILDER_H
