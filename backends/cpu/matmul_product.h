// SPDX-License-Identifier: Apache-2.0
//
// multiply(): a product on the calling thread, by whichever of the ways is the
// fastest for its shape.
#ifndef FERRY_CPU_MATMUL_PRODUCT_H
#define FERRY_CPU_MATMUL_PRODUCT_H

#include <cstddef>
#include <cstdint>

#include "matmul_loops.h"

namespace ferry::cpu {

/// Memory of the calling thread, aligned to 64 bytes and kept for the next use.
/// Several may be held at once, as when a thread that waits takes another task.
class Workspace {
 public:
  /// Throws std::bad_alloc.
  explicit Workspace(int64_t bytes);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const noexcept { return data_; }
  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
  size_t bytes_;
};

constexpr Matrix transposed(const Matrix& a) noexcept { return {a.data, a.col, a.row}; }
/// The part of `a` that begins at a row and a column.
inline Matrix part(const Matrix& a, ferry_dtype dtype, int64_t row, int64_t col) noexcept {
  const int64_t elements = row * a.row + col * a.col;
  return {static_cast<const char*>(a.data) + elements * item_size(dtype), a.row, a.col};
}

/// c[m, n] = a[m, k] * b[k, n] in the accumulation type of `dtype`, which is not
/// bool; rows of c lie `ldc` >= n apart. The bits depend on the sizes, strides
/// and processor only. Throws std::bad_alloc and dnnl::error.
void multiply(ferry_dtype dtype, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
              void* c, int64_t ldc);

}  // namespace ferry::cpu

#endif  // FERRY_CPU_MATMUL_PRODUCT_H
