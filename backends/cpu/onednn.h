// SPDX-License-Identifier: Apache-2.0
//
// oneDNN as a library of serial kernels: its own threads stay unused, since the
// backend's tasks are the only pool.
#ifndef FERRY_CPU_ONEDNN_H
#define FERRY_CPU_ONEDNN_H

#include <cstdint>

#include <oneapi/dnnl/dnnl.hpp>

#include "matmul_loops.h"

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
#include <tbb/task_arena.h>
#endif

namespace ferry::cpu {

namespace detail {
/// For the calling thread: the threads that oneDNN would use, and the setting.
/// Without OpenMP 1, and nothing.
int openmp_threads() noexcept;
void set_openmp_threads(int count) noexcept;

class OneOpenmpThread {
 public:
  OneOpenmpThread() noexcept : before_(openmp_threads()) { set_openmp_threads(1); }
  ~OneOpenmpThread() { set_openmp_threads(before_); }
  OneOpenmpThread(const OneOpenmpThread&) = delete;
  OneOpenmpThread& operator=(const OneOpenmpThread&) = delete;

 private:
  int before_;
};
}  // namespace detail

/// Calls f on this thread; oneDNN starts no other thread in it.
template <class F>
void run_serial(F&& f) {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
  thread_local tbb::task_arena alone(1, 1);
  alone.execute(f);
#else
  const detail::OneOpenmpThread scope;
  f();
#endif
}

/// oneDNN's view of this processor; made on first use.
const dnnl::engine& onednn_engine();
/// The calling thread's stream.
dnnl::stream& onednn_stream();

/// c[m, n] = a[m, k] * b[k, n] in f32 on the calling thread; rows of c lie `ldc`
/// apart. False, and nothing done, where the strides are not BLAS's. Throws
/// std::bad_alloc and dnnl::error.
bool onednn_product(int64_t m, int64_t n, int64_t k, const Matrix& a, const Matrix& b, float* c,
                    int64_t ldc);

}  // namespace ferry::cpu

#endif  // FERRY_CPU_ONEDNN_H
