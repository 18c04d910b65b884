// SPDX-License-Identifier: Apache-2.0
//
// How a call of matmul/1 is seen and cut: as few and as large products as its
// strides allow, then in pieces that threads can share.
#ifndef FERRY_CPU_MATMUL_PLAN_H
#define FERRY_CPU_MATMUL_PLAN_H

#include <array>
#include <cstdint>
#include <vector>

#include "matmul_loops.h"

namespace ferry::cpu {

/// out[m, n] = a[m, k] * b[k, n] for each index of the batch dimensions.
struct MatmulProblem {
  static constexpr int kMostBatchDims = FERRY_MAX_DIMS - 2;

  struct Operand {
    char* data;
    ferry_dtype dtype;
    int64_t row, col;  // in elements, as all strides
    std::array<int64_t, kMostBatchDims> batch;
  };

  int64_t m, n, k;
  int batch_dims;
  std::array<int64_t, kMostBatchDims> batch;
  /// a, b, out, then the further inputs of the map, which lie like out.
  std::vector<Operand> operands;

  /// Joins batch dimensions, and takes rows of a batch that shares its b as
  /// rows of one matrix; exchanges rows and columns where only out's rows are
  /// dense. The results are the same elements.
  static MatmulProblem from(const ferry_call& call);

  Operand& a() { return operands[0]; }
  Operand& b() { return operands[1]; }
  Operand& out() { return operands[2]; }
  const Operand& a() const { return operands[0]; }
  const Operand& b() const { return operands[1]; }
  const Operand& out() const { return operands[2]; }
  int64_t batch_count() const noexcept;

 private:
  void join_batch_dims();
  void fold_batch_into_rows();
  void transpose();
};

/// The pieces of a problem. They depend on its shape and strides only, never on
/// the number of threads, so that the result's bits do not either.
struct MatmulPlan {
  int64_t rows, cols;  ///< of a tile of the output
  int64_t depth;       ///< of a part of the sum; k where the sum is not cut
  int64_t group;       ///< products of the last batch dimension in one piece
  int64_t grain;       ///< pieces that are worth a task

  static MatmulPlan of(const MatmulProblem& problem);
};

}  // namespace ferry::cpu

#endif  // FERRY_CPU_MATMUL_PLAN_H
