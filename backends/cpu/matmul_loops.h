// SPDX-License-Identifier: Apache-2.0
//
// MatmulLoops: the serial loops of matrix products as tables of functions, one
// table for each instruction set.
#ifndef FERRY_CPU_MATMUL_LOOPS_H
#define FERRY_CPU_MATMUL_LOOPS_H

#include <cstdint>

#include "isa.h"

namespace ferry::cpu {

/// A matrix of any strides, in elements; 0 repeats.
struct Matrix {
  const void* data;
  int64_t row, col;
};

/// Blocking of the packed product: depth and rows of a block, and the bytes of
/// a row of B's block.
inline constexpr int64_t kBlockDepth = 256;
inline constexpr int64_t kBlockRows = 96;
inline constexpr int64_t kBlockRowBytes = 2048;
/// Bytes of work memory that a product needs, aligned to 64.
inline constexpr int64_t kProductWork =
    (kBlockDepth + 1) * kBlockRowBytes + kBlockDepth * kBlockRows * 8;

/// Indexed by dtype; null for bool. Results are in the accumulation type: f32
/// for the halves and f32, f64, and unsigned integers that wrap: 16 bits for
/// integers of 8 and 16 bits, else the dtype's width.
struct MatmulLoops {
  /// c[m, n] = a[m, k] * b[k, n]; rows of c lie `ldc` apart.
  using Product = void (*)(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
                           void* c, int64_t ldc, void* work);
  /// y[m] = a[m, k] * x[k]; x and y are dense and in the accumulation type.
  using Vector = void (*)(int64_t m, int64_t k, const Matrix& a, const void* x, void* y);
  /// Converts n elements that lie `stride` apart to dense ones, and back.
  using Load = void (*)(void* to, const void* from, int64_t stride, int64_t n);
  using Store = void (*)(void* to, int64_t stride, const void* from, int64_t n);
  /// to[i] += from[i] in the accumulation type.
  using Add = void (*)(void* to, const void* from, int64_t n);

  Product product[kDtypeCount];
  Vector rows[kDtypeCount];     // a.col is 1
  Vector columns[kDtypeCount];  // a.row is 1
  Load load[kDtypeCount];
  Store store[kDtypeCount];
  Add add[kDtypeCount];
};

/// Bytes of an element of the accumulation type.
constexpr int64_t accumulator_size(ferry_dtype dtype) noexcept {
  constexpr int8_t kSizes[kDtypeCount] = {0, 2, 2, 2, 4, 8, 4, 4, 4, 8};
  return kSizes[dtype];
}

/// The table that goes with loops().
const MatmulLoops& matmul_loops();

namespace baseline {
void fill_matmul_loops(MatmulLoops& loops);
}
namespace avx2 {
void fill_matmul_loops(MatmulLoops& loops);
}
namespace avx512 {
void fill_matmul_loops(MatmulLoops& loops);
}

}  // namespace ferry::cpu

#endif  // FERRY_CPU_MATMUL_LOOPS_H
