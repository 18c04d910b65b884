// SPDX-License-Identifier: Apache-2.0
//
// The one thread pool of the CPU backend.
#ifndef FERRY_CPU_PARALLEL_H
#define FERRY_CPU_PARALLEL_H

#include <cstdint>
#include <type_traits>

namespace ferry::cpu {

/// Threads that work at most: those that the process may run on, the cgroup's
/// quota, or FERRY_NUM_THREADS. Starts none.
int thread_count();

/// Waits until the threads have ended; one that comes back to work starts them
/// again. Without effect while another thread computes.
void stop_threads();

namespace detail {
void run_parallel(int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context);
}

/// Calls f(begin, end) for disjoint ranges that cover 0..n-1, each of about
/// `grain` or more, on several threads when there is work for them. Done on
/// return. An exception of f is passed on. May be nested.
template <class F>
void parallel_for(int64_t n, int64_t grain, F&& f) {
  if (n <= 0) return;
  if (n <= grain || thread_count() == 1) {
    f(int64_t{0}, n);
    return;
  }
  detail::run_parallel(
      n, grain,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace ferry::cpu

#endif  // FERRY_CPU_PARALLEL_H
