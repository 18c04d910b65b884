// SPDX-License-Identifier: Apache-2.0
//
// The serial loops of matrix products: a tile of the result in registers, fed
// from packed blocks or, where that pays, from the operands as they lie.
#include "isa/isa_text.h"

#include <cstdint>
#include <type_traits>

#include "isa/matmul_vectors.h"
#include "matmul_loops.h"

namespace ferry::cpu::FERRY_CPU_ISA {
namespace {

/// c[R, cols] (+)= a[R, k] * b[k, kCols]: the tile in registers. `a` has any
/// strides; rows of b lie `ldb` apart and all kCols of them are readable.
template <class C, int R>
void tile(int64_t k, const C* a, int64_t a_row, int64_t a_col, const C* b, int64_t ldb, C* c,
          int64_t ldc, int64_t cols, bool add) {
  constexpr int kL = kLanes<C>;
  Vec<C> sum[R][2] = {};
  for (int64_t p = 0; p < k; ++p) {
    const Vec<C> b0 = load_vec(b), b1 = load_vec(b + kL);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const Vec<C> x = a[r * a_row] - Vec<C>{};
      sum[r][0] = multiply_add<C>(x, b0, sum[r][0]);
      sum[r][1] = multiply_add<C>(x, b1, sum[r][1]);
    }
    a += a_col;
    b += ldb;
  }
  if (cols == kCols<C>) {
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      C* const row = c + r * ldc;
      store_vec<C>(row, add ? sum[r][0] + load_vec(row) : sum[r][0]);
      store_vec<C>(row + kL, add ? sum[r][1] + load_vec(row + kL) : sum[r][1]);
    }
    return;
  }
  C rest[R][kCols<C>];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
    store_vec<C>(rest[r], sum[r][0]);
    store_vec<C>(rest[r] + kL, sum[r][1]);
  }
  for (int r = 0; r < R; ++r) {
    for (int64_t j = 0; j < cols; ++j) {
      C* const at = c + r * ldc + j;
      *at = static_cast<C>(add ? *at + rest[r][j] : rest[r][j]);
    }
  }
}

/// The tile of the right height, 1 <= rows <= R.
template <class C, int R = kRows>
void tile_rows(int64_t rows, int64_t k, const C* a, int64_t a_row, int64_t a_col, const C* b,
               int64_t ldb, C* c, int64_t ldc, int64_t cols, bool add) {
  if constexpr (R > 1) {
    if (rows < R) {
      tile_rows<C, R - 1>(rows, k, a, a_row, a_col, b, ldb, c, ldc, cols, add);
      return;
    }
  }
  tile<C, R>(k, a, a_row, a_col, b, ldb, c, ldc, cols, add);
}

/// b[k, n] as panels of kCols columns, zeros beyond n. A row is left free between
/// panels, since whole ones lie a power of two apart and would share cache sets.
template <class C, class S>
void pack_b(C* to, const S* b, int64_t row, int64_t col, int64_t k, int64_t n) {
  constexpr int64_t kC = kCols<C>;
  const int64_t full = n / kC * kC;
  const int64_t whole = col == 1 ? full : 0;
  // Along the rows as they lie: columns of a page's distance share cache sets.
  for (int64_t p = 0; p < k && whole > 0; ++p) {
    for (int64_t j = 0; j < whole; j += kC) {
      widen_run(to + j * (k + 1) + p * kC, b + p * row + j, kC);
    }
  }
  for (int64_t j = whole; j < n; j += kC) {
    const int64_t cols = n - j < kC ? n - j : kC;
    C* const panel = to + j * (k + 1);
    if (cols < kC) {
      for (int64_t i = 0; i < k * kC; ++i) panel[i] = 0;
    }
    const S* const from = b + j * col;
    if (col == 1) {
      for (int64_t p = 0; p < k; ++p) {
        for (int64_t q = 0; q < cols; ++q) panel[p * kC + q] = widen<C>(from[p * row + q]);
      }
    } else {
      for (int64_t q = 0; q < cols; ++q) {
        for (int64_t p = 0; p < k; ++p) panel[p * kC + q] = widen<C>(from[p * row + q * col]);
      }
    }
  }
}

/// a[m, k] as panels of kRows rows, element by element along k.
template <class C, class S>
void pack_a(C* to, const S* a, int64_t row, int64_t col, int64_t m, int64_t k) {
  for (int64_t i = 0; i < m; i += kRows) {
    const int64_t rows = m - i < kRows ? m - i : kRows;
    for (int64_t r = 0; r < rows; ++r) {
      const S* const from = a + (i + r) * row;
      for (int64_t p = 0; p < k; ++p) to[p * kRows + r] = widen<C>(from[p * col]);
    }
    to += k * kRows;
  }
}

/// Without packing: b's rows are dense.
template <class C>
void direct(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, C* c, int64_t ldc,
            C* work) {
  const C* const pa = static_cast<const C*>(a.data);
  const C* const pb = static_cast<const C*>(b.data);
  for (int64_t p = 0; p < k; p += kBlockDepth) {
    const int64_t depth = k - p < kBlockDepth ? k - p : kBlockDepth;
    for (int64_t j = 0; j < n; j += kCols<C>) {
      const int64_t cols = n - j < kCols<C> ? n - j : kCols<C>;
      const C* from = pb + p * b.row + j;
      int64_t ldb = b.row;
      if (cols < kCols<C>) {
        pack_b<C, C>(work, from, b.row, 1, depth, cols);
        from = work;
        ldb = kCols<C>;
      }
      for (int64_t i = 0; i < m; i += kRows) {
        const int64_t rows = m - i < kRows ? m - i : kRows;
        tile_rows<C>(rows, depth, pa + i * a.row + p * a.col, a.row, a.col, from, ldb,
                     c + i * ldc + j, ldc, cols, p > 0);
      }
    }
  }
}

template <class C, class S>
void blocked(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, C* c, int64_t ldc,
             C* work) {
  constexpr int64_t kBlockCols = kBlockRowBytes / int64_t{sizeof(C)};
  static_assert(kBlockCols % kCols<C> == 0);
  const S* const pa = static_cast<const S*>(a.data);
  const S* const pb = static_cast<const S*>(b.data);
  C* const packed_b = work;
  C* const packed_a = work + (kBlockDepth + 1) * kBlockCols;
  for (int64_t j = 0; j < n; j += kBlockCols) {
    const int64_t nc = n - j < kBlockCols ? n - j : kBlockCols;
    for (int64_t p = 0; p < k; p += kBlockDepth) {
      const int64_t kc = k - p < kBlockDepth ? k - p : kBlockDepth;
      pack_b<C, S>(packed_b, pb + p * b.row + j * b.col, b.row, b.col, kc, nc);
      for (int64_t i = 0; i < m; i += kBlockRows) {
        const int64_t mc = m - i < kBlockRows ? m - i : kBlockRows;
        pack_a<C, S>(packed_a, pa + i * a.row + p * a.col, a.row, a.col, mc, kc);
        for (int64_t jj = 0; jj < nc; jj += kCols<C>) {
          const int64_t cols = nc - jj < kCols<C> ? nc - jj : kCols<C>;
          for (int64_t ii = 0; ii < mc; ii += kRows) {
            const int64_t rows = mc - ii < kRows ? mc - ii : kRows;
            tile_rows<C>(rows, kc, packed_a + ii * kc, 1, kRows, packed_b + jj * (kc + 1), kCols<C>,
                         c + (i + ii) * ldc + j + jj, ldc, cols, p > 0);
          }
        }
      }
    }
  }
}

template <class C, class S>
void product(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, void* c,
             int64_t ldc, void* work) {
  // B is read once for each kRows rows: from the L2 cache, or so few times that
  // packing does not pay.
  constexpr int64_t kDirectBytes = 128 * 1024;
  if constexpr (std::is_same_v<C, S>) {
    if (b.col == 1 && (m <= 2 * kRows || n * k * int64_t{sizeof(C)} <= kDirectBytes)) {
      direct<C>(m, n, k, a, b, static_cast<C*>(c), ldc, static_cast<C*>(work));
      return;
    }
  }
  blocked<C, S>(m, n, k, a, b, static_cast<C*>(c), ldc, static_cast<C*>(work));
}

/// Elements of a run that is converted before it is used.
constexpr int64_t kRun = 512;

/// sum[r] += a[r][0..n) * x[0..n).
template <class C, int R>
[[gnu::always_inline]] inline void dot_run(const C* const (&a)[R], const C* x, int64_t n,
                                           Vec<C> (&sum)[R][2], C (&rest)[R]) {
  constexpr int kL = kLanes<C>;
  int64_t p = 0;
  for (; p + 2 * kL <= n; p += 2 * kL) {
    const Vec<C> x0 = load_vec(x + p), x1 = load_vec(x + p + kL);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      sum[r][0] = multiply_add<C>(load_vec(a[r] + p), x0, sum[r][0]);
      sum[r][1] = multiply_add<C>(load_vec(a[r] + p + kL), x1, sum[r][1]);
    }
  }
  for (; p < n; ++p) {
    for (int r = 0; r < R; ++r) rest[r] = multiply_add_one<C>(a[r][p], x[p], rest[r]);
  }
}

template <class C, class S, int R>
void dot_rows(int64_t k, const S* a, int64_t row, const C* x, C* y) {
  Vec<C> sum[R][2] = {};
  C rest[R] = {};
  if constexpr (std::is_same_v<C, S>) {
    const C* at[R];
    for (int r = 0; r < R; ++r) at[r] = a + r * row;
    dot_run<C, R>(at, x, k, sum, rest);
  } else {
    C run[R][kRun];
    const C* at[R];
    for (int r = 0; r < R; ++r) at[r] = run[r];
    for (int64_t p = 0; p < k; p += kRun) {
      const int64_t n = k - p < kRun ? k - p : kRun;
      for (int r = 0; r < R; ++r) widen_run(run[r], a + r * row + p, n);
      dot_run<C, R>(at, x + p, n, sum, rest);
    }
  }
  for (int r = 0; r < R; ++r) {
    const Vec<C> both = sum[r][0] + sum[r][1];
    C total = rest[r];
    for (int i = 0; i < kLanes<C>; ++i) total = static_cast<C>(total + both[i]);
    y[r] = total;
  }
}

template <class C, class S>
void vector_rows(int64_t m, int64_t k, const Matrix& a, const void* x_, void* y_) {
  const S* const from = static_cast<const S*>(a.data);
  const C* const x = static_cast<const C*>(x_);
  C* const y = static_cast<C*>(y_);
  int64_t i = 0;
  for (; i + 4 <= m; i += 4) dot_rows<C, S, 4>(k, from + i * a.row, a.row, x, y + i);
  for (; i < m; ++i) dot_rows<C, S, 1>(k, from + i * a.row, a.row, x, y + i);
}

/// y[0..n) += the sum of R columns, each times its element of x.
template <class C, int R>
[[gnu::always_inline]] inline void add_columns(const C* const (&a)[R], const C (&x)[R], int64_t n,
                                               C* y) {
  constexpr int kL = kLanes<C>;
  Vec<C> factor[R];
  for (int r = 0; r < R; ++r) factor[r] = x[r] - Vec<C>{};
  int64_t i = 0;
  for (; i + kL <= n; i += kL) {
    Vec<C> sum = load_vec(y + i);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) sum = multiply_add<C>(load_vec(a[r] + i), factor[r], sum);
    store_vec<C>(y + i, sum);
  }
  for (; i < n; ++i) {
    for (int r = 0; r < R; ++r) y[i] = multiply_add_one<C>(a[r][i], x[r], y[i]);
  }
}

template <class C, class S, int R>
void columns_at(int64_t m, const S* a, int64_t col, const C* x, C* y) {
  C factor[R];
  for (int r = 0; r < R; ++r) factor[r] = x[r];
  const C* at[R];
  if constexpr (std::is_same_v<C, S>) {
    for (int r = 0; r < R; ++r) at[r] = a + r * col;
    add_columns<C, R>(at, factor, m, y);
  } else {
    C run[R][kRun];
    for (int r = 0; r < R; ++r) at[r] = run[r];
    for (int64_t i = 0; i < m; i += kRun) {
      const int64_t n = m - i < kRun ? m - i : kRun;
      for (int r = 0; r < R; ++r) widen_run(run[r], a + r * col + i, n);
      add_columns<C, R>(at, factor, n, y + i);
    }
  }
}

template <class C, class S>
void vector_columns(int64_t m, int64_t k, const Matrix& a, const void* x_, void* y_) {
  const S* const from = static_cast<const S*>(a.data);
  const C* const x = static_cast<const C*>(x_);
  C* const y = static_cast<C*>(y_);
  for (int64_t i = 0; i < m; ++i) y[i] = 0;
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) columns_at<C, S, 4>(m, from + p * a.col, a.col, x + p, y);
  for (; p < k; ++p) columns_at<C, S, 1>(m, from + p * a.col, a.col, x + p, y);
}

template <class C, class S>
void load_run(void* to_, const void* from_, int64_t stride, int64_t n) {
  C* const to = static_cast<C*>(to_);
  const S* const from = static_cast<const S*>(from_);
  if (stride == 1) {
    widen_run(to, from, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = widen<C>(from[i * stride]);
  }
}

template <class C, class S>
void store_run(void* to_, int64_t stride, const void* from_, int64_t n) {
  S* const to = static_cast<S*>(to_);
  const C* const from = static_cast<const C*>(from_);
  int64_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<S, sdk::F16>) {
    for (; stride == 1 && i + 8 <= n; i += 8) {
      const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
  }
#endif
  if (stride == 1) {
    for (; i < n; ++i) to[i] = sdk::store_as<S>(from[i]);
  } else {
    for (; i < n; ++i) to[i * stride] = sdk::store_as<S>(from[i]);
  }
}

template <class C>
void add_run(void* to_, const void* from_, int64_t n) {
  C* const to = static_cast<C*>(to_);
  const C* const from = static_cast<const C*>(from_);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<C>(to[i] + from[i]);
}

template <class C, class S>
void fill(MatmulLoops& loops, ferry_dtype dtype) {
  loops.product[dtype] = &product<C, S>;
  loops.rows[dtype] = &vector_rows<C, S>;
  loops.columns[dtype] = &vector_columns<C, S>;
  loops.load[dtype] = &load_run<C, S>;
  loops.store[dtype] = &store_run<C, S>;
  loops.add[dtype] = &add_run<C>;
}

}  // namespace

void fill_matmul_loops(MatmulLoops& loops) {
  // Sums and products that wrap are the same bits with and without a sign.
  fill<uint16_t, uint8_t>(loops, FERRY_U8);
  fill<uint16_t, uint8_t>(loops, FERRY_I8);
  fill<uint16_t, uint16_t>(loops, FERRY_I16);
  fill<uint32_t, uint32_t>(loops, FERRY_I32);
  fill<uint64_t, uint64_t>(loops, FERRY_I64);
  fill<float, sdk::F16>(loops, FERRY_F16);
  fill<float, sdk::BF16>(loops, FERRY_BF16);
  fill<float, float>(loops, FERRY_F32);
  fill<double, double>(loops, FERRY_F64);
}

}  // namespace ferry::cpu::FERRY_CPU_ISA
