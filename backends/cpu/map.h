// SPDX-License-Identifier: Apache-2.0
//
// Map programs on the CPU: a tile of elements at a time, each step a loop over
// the tile.
#ifndef FERRY_CPU_MAP_H
#define FERRY_CPU_MAP_H

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ferry/hal/kernel.h"
#include "isa.h"

namespace ferry::cpu {

/// Elements of a tile: a register of it takes 2 or 4 KiB.
inline constexpr int64_t kTile = 512;

/// Tensors of one shape walked together in row-major order, with dimensions
/// joined where all of them allow it.
class Walk {
 public:
  struct Operand {
    char* base;
    ferry_dtype dtype;
    int64_t item;
    std::array<int64_t, FERRY_MAX_DIMS> stride;  // in elements
  };

  /// `shape` has `ndim` sizes; each tensor has strides for exactly these.
  Walk(uint32_t ndim, const int64_t* shape) noexcept;
  void add(const ferry_tensor& tensor);
  /// The same with strides of the caller's, in elements.
  void add(const ferry_tensor& tensor, const int64_t* strides);
  /// After the last add().
  void join_dims();

  int64_t count() const noexcept { return count_; }
  /// The dimensions as joined.
  std::span<const int64_t> shape() const noexcept { return {shape_.data(), ndim_}; }
  const Operand& operand(size_t i) const noexcept { return operands_[i]; }

  /// Calls f(offset of each element from `begin`, positions, length) for each
  /// run along the last dimension within begin..begin+n-1.
  template <class F>
  void for_runs(int64_t begin, int64_t n, F&& f) const;
  /// Elements from `begin` to the end of its run.
  int64_t run_length(int64_t begin) const noexcept {
    if (ndim_ <= 1) return ndim_ == 0 ? 1 : shape_[0] - begin;  // no division
    return shape_[ndim_ - 1] - begin % shape_[ndim_ - 1];
  }
  /// Where element `begin` of operand `i` lies.
  char* at(size_t i, int64_t begin) const noexcept;
  int64_t inner_stride(size_t i) const noexcept {
    return ndim_ == 0 ? 0 : operands_[i].stride[ndim_ - 1];
  }

 private:
  uint32_t ndim_;
  std::array<int64_t, FERRY_MAX_DIMS> shape_{};
  int64_t count_ = 1;
  std::vector<Operand> operands_;
};

/// Evaluates a program over inputs that are the first operands of a walk.
/// One for each thread and call; its tiles are the thread's.
class Evaluator {
 public:
  /// The most registers of a program.
  static constexpr uint32_t kMostRegisters = 256;

  /// At most `longest` elements will be evaluated at a time.
  Evaluator(const ferry_program& program, const Walk& walk, int64_t longest = kTile);
  /// Elements begin..begin+n-1, n <= kTile or longest(begin). Afterwards reg() has their values.
  /// Where `last` is not null, the last step stores there instead.
  void evaluate(int64_t begin, int64_t n, void* last);
  /// Elements from `begin` that one evaluate() can take: a tile, or all of the
  /// run where the program is an input as it lies.
  int64_t longest(int64_t begin) const noexcept;
  /// Values of a register, in the compute type.
  const void* reg(uint32_t number) const noexcept { return registers_[number]; }
  int compute() const noexcept { return compute_; }

 private:
  void load(size_t input, int64_t begin, int64_t n);

  const ferry_program& program_;
  const Walk& walk_;
  const Loops& loops_;
  int compute_;
  std::array<const void*, kMostRegisters> registers_;  // those of the program are set
  char* tiles_;
  int64_t tile_bytes_;
};

/// Runs a map program on tensors of one shape, on several threads where it
/// pays. The program is one that MapKernel's check accepts.
hal::Status run_map(const ferry_program& program, std::span<const ferry_tensor> in,
                    std::span<const ferry_tensor> out);

/// FERRY_DECLINED for a program with steps that this backend does not know.
hal::Status check_program(const ferry_program& program);

const hal::Kernel& map_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_MAP_H
