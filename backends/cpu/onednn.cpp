// SPDX-License-Identifier: Apache-2.0
//
// Keeps oneDNN serial whichever runtime it was built for, and its sgemm.
#include "onednn.h"

#include <algorithm>
#include <new>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
// Bound when the plugin is loaded, to the OpenMP library that oneDNN brings:
// linking one by the compiler's choice could be another, which oneDNN does not
// ask. Weak, since the link has no library that defines them.
extern "C" {
[[gnu::weak]] int omp_get_max_threads(void);
[[gnu::weak]] void omp_set_num_threads(int);
}
#endif

namespace ferry::cpu {

namespace detail {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
int openmp_threads() noexcept { return omp_get_max_threads != nullptr ? omp_get_max_threads() : 1; }
void set_openmp_threads(int count) noexcept {
  if (omp_set_num_threads != nullptr) omp_set_num_threads(count);
}
#else
int openmp_threads() noexcept { return 1; }
void set_openmp_threads(int) noexcept {}
#endif
}  // namespace detail

const dnnl::engine& onednn_engine() {
  // Never destroyed: another thread may compute while statics are.
  static const auto* const engine = new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return *engine;
}

dnnl::stream& onednn_stream() {
  thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

namespace {

/// 'N' or 'T' and the leading dimension of a rows x cols matrix as BLAS knows
/// it; 0 where it has no such form.
char layout(const Matrix& matrix, int64_t rows, int64_t cols, int64_t* ld) {
  if ((matrix.col == 1 || cols == 1) && (matrix.row >= cols || rows == 1)) {
    *ld = std::max(rows == 1 ? cols : matrix.row, int64_t{1});
    return 'N';
  }
  if ((matrix.row == 1 || rows == 1) && (matrix.col >= rows || cols == 1)) {
    *ld = std::max(cols == 1 ? rows : matrix.col, int64_t{1});
    return 'T';
  }
  return 0;
}

}  // namespace

bool onednn_product(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, float* c,
                    int64_t ldc) {
  int64_t lda = 0, ldb = 0;
  const char trans_a = layout(a, m, k, &lda), trans_b = layout(b, k, n, &ldb);
  if (trans_a == 0 || trans_b == 0) return false;
  dnnl_status_t status = dnnl_success;
  run_serial([&] {
    status = dnnl_sgemm(trans_a, trans_b, m, n, k, 1.0f, static_cast<const float*>(a.data), lda,
                        static_cast<const float*>(b.data), ldb, 0.0f, c, std::max(ldc, n));
  });
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  dnnl::error::wrap_c_api(status, "oneDNN refused a matrix product");
  return true;
}

}  // namespace ferry::cpu
