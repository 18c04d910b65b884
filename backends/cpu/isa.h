// SPDX-License-Identifier: Apache-2.0
//
// Loops: the inner loops of the backend as tables of functions, one table for
// each instruction set, and the choice among them.
#ifndef FERRY_CPU_ISA_H
#define FERRY_CPU_ISA_H

#include <cstdint>

#include "ferry/abi/kernel.h"

namespace ferry::cpu {

/// The compute types as small numbers.
enum Compute { kInt32 = 0, kInt64 = 1, kFloat = 2, kDouble = 3 };
inline constexpr int kComputeCount = 4;
inline constexpr int kDtypeCount = 10;
inline constexpr int kReduceCount = 6;  // the ops before ARGMAX

/// Number of scalar ops that this backend was built with.
inline constexpr int kScalarOps = 0
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) +1
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
    ;

/// -1 for what no program computes in.
constexpr int compute_index(ferry_dtype dtype) noexcept {
  switch (dtype) {
    case FERRY_I32:
      return kInt32;
    case FERRY_I64:
      return kInt64;
    case FERRY_F32:
      return kFloat;
    case FERRY_F64:
      return kDouble;
    default:
      return -1;
  }
}
constexpr int64_t compute_size(int compute) noexcept {
  return compute == kInt32 || compute == kFloat ? 4 : 8;
}
constexpr int64_t item_size(ferry_dtype dtype) noexcept {
  constexpr int8_t kSizes[kDtypeCount] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[dtype];
}

/// out[i] = op(a[i], b[i], c[i]); out may be exactly an operand.
using StepLoop = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n);
/// out[i] = first + i.
using IndexLoop = void (*)(void* out, int64_t first, int64_t n);
/// Converts n elements, `stride` elements apart in the tensor, from or to a tile.
using LoadLoop = void (*)(void* tile, const void* from, int64_t stride, int64_t n);
using StoreLoop = void (*)(void* to, int64_t stride, const void* tile, int64_t n);
/// Folds a tile into an accumulator: double for the floating compute types,
/// int64_t for the others. ANY and ALL have 0 or 1 there.
using FoldLoop = void (*)(void* accumulator, const void* tile, int64_t n);
/// The same, element i into accumulator i.
using ColumnsLoop = void (*)(void* accumulators, const void* tile, int64_t n);
/// Takes elements that beat `*best` (a value of the compute type), whose
/// position is `*where` or -1 at the beginning; the tile begins at `first`.
using ArgLoop = void (*)(void* best, int64_t* where, const void* tile, int64_t first, int64_t n);
/// One row of softmax/1: n elements of f32 or f64 side by side; out may be x.
using SoftmaxLoop = void (*)(void* out, const void* x, int64_t n, bool logarithm);
/// One row of layer_norm/1; weight and bias may be null, out may be x.
using LayerNormLoop = void (*)(void* out, const void* x, const void* weight, const void* bias,
                               int64_t n, double eps, bool rms);
struct Loops {
  const char* name;
  StepLoop step[kComputeCount][kScalarOps];
  IndexLoop index[kComputeCount];
  LoadLoop load[kDtypeCount][kComputeCount];
  StoreLoop store[kDtypeCount][kComputeCount];
  FoldLoop fold[kComputeCount][kReduceCount];
  ColumnsLoop columns[kComputeCount][kReduceCount];
  ArgLoop arg[kComputeCount][2];            // ARGMAX, ARGMIN
  SoftmaxLoop softmax[kComputeCount];       // null for integers
  LayerNormLoop layer_norm[kComputeCount];  // null for integers
};

/// The table for this processor. FERRY_CPU_ISA (baseline, avx2, avx512) chooses
/// a lesser one, for tests.
const Loops& loops();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_ISA_H
