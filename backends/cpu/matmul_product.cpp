// SPDX-License-Identifier: Apache-2.0
//
// Chooses the serial loop for a product, and lends it memory.
#include "matmul_product.h"

#include <cstring>
#include <new>
#include <vector>

#include "onednn.h"

namespace ferry::cpu {
namespace {

constexpr size_t kAlignment = 64;
/// What a thread keeps: blocks up to this size, and this many of them.
constexpr size_t kKeptBytes = size_t{8} << 20;
constexpr size_t kKeptBlocks = 4;

struct Block {
  void* data;
  size_t bytes;
};

void release(void* data) { ::operator delete (data, std::align_val_t{kAlignment}); }

class Cache {
 public:
  Cache() { blocks_.reserve(kKeptBlocks); }
  ~Cache() {
    for (const Block& block : blocks_) release(block.data);
  }
  Block take(size_t bytes) {
    for (size_t i = blocks_.size(); i-- > 0;) {
      if (blocks_[i].bytes < bytes) continue;
      const Block block = blocks_[i];
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(i));
      return block;
    }
    return {::operator new (bytes, std::align_val_t{kAlignment}), bytes};
  }
  void give(Block block) {
    if (block.bytes > kKeptBytes) return release(block.data);
    if (blocks_.size() == kKeptBlocks) {
      release(blocks_.front().data);
      blocks_.erase(blocks_.begin());
    }
    blocks_.push_back(block);
  }

 private:
  std::vector<Block> blocks_;
};

Cache& cache() {
  thread_local Cache object;
  return object;
}

/// True where oneDNN's sgemm is faster than the loops here. Measured with 2.6 on
/// AVX2: small products suffer from its overhead; and it does not copy a B with
/// dense rows, whose rows then share cache sets where they lie a multiple of
/// 2 KiB apart (256x512x1024: 46 GFLOP/s against 89).
bool suits_onednn(int64_t products, const Matrix& b) {
  constexpr int64_t kSmall = int64_t{32} * 32 * 32;
  if (b.col != 1) return products > kSmall;
  return products > 8 * kSmall && b.row % 512 != 0;
}

/// y[len] = a[len, k] * x[k], y dense.
void multiply_vector(ferry_dtype dtype, int64_t len, int64_t k, const Matrix& a, const void* x,
                     int64_t x_stride, void* y) {
  const MatmulLoops& loops = matmul_loops();
  const int64_t size = accumulator_size(dtype);
  const Workspace dense(k * size);
  loops.load[dtype](dense.data(), x, x_stride, k);
  if (a.col == 1 || k == 1) {
    loops.rows[dtype](len, k, {a.data, a.row, 1}, dense.data(), y);
  } else {
    loops.columns[dtype](len, k, a, dense.data(), y);
  }
}

}  // namespace

Workspace::Workspace(int64_t bytes) {
  // Rounded, so that blocks fit later requests.
  const size_t wanted = (static_cast<size_t>(bytes) / 4096 + 1) * 4096;
  const Block block = cache().take(wanted);
  data_ = block.data;
  bytes_ = block.bytes;
}

Workspace::~Workspace() { cache().give({data_, bytes_}); }

void multiply(ferry_dtype dtype, int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b,
              void* c, int64_t ldc) {
  const MatmulLoops& loops = matmul_loops();
  const int64_t size = accumulator_size(dtype);
  const int64_t work = m * n * k;
  if (m == 1 && work > 64 && (b.row == 1 || b.col == 1)) {
    multiply_vector(dtype, n, k, transposed(b), a.data, a.col, c);
    return;
  }
  if (n == 1 && work > 64 && (a.row == 1 || a.col == 1)) {
    if (ldc == 1) {
      multiply_vector(dtype, m, k, a, b.data, b.row, c);
      return;
    }
    const Workspace column(m * size);
    multiply_vector(dtype, m, k, a, b.data, b.row, column.data());
    for (int64_t i = 0; i < m; ++i) {
      std::memcpy(static_cast<char*>(c) + i * ldc * size, column.as<char>() + i * size,
                  static_cast<size_t>(size));
    }
    return;
  }
  if (dtype == FERRY_F32 && suits_onednn(work, b) &&
      onednn_product(m, n, k, a, b, static_cast<float*>(c), ldc)) {
    return;
  }
  const Workspace packed(kProductWork);
  loops.product[dtype](m, n, k, a, b, c, ldc, packed.data());
}

const MatmulLoops& matmul_loops() {
  static const MatmulLoops table = [] {
    MatmulLoops made{};
    const char* const name = loops().name;
#if defined(FERRY_CPU_X86)
    if (std::strcmp(name, "avx512") == 0) {
      avx512::fill_matmul_loops(made);
      return made;
    }
    if (std::strcmp(name, "avx2") == 0) {
      avx2::fill_matmul_loops(made);
      return made;
    }
#endif
    (void)name;
    baseline::fill_matmul_loops(made);
    return made;
  }();
  return table;
}

}  // namespace ferry::cpu
