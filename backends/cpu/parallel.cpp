// SPDX-License-Identifier: Apache-2.0
//
// parallel_for on a oneTBB arena of the right width.
#include "parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "ferry/sdk/plugin.h"
#include "processor.h"

#if defined(__SANITIZE_THREAD__)
#define FERRY_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FERRY_THREAD_SANITIZER 1
#endif
#endif

#if defined(FERRY_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace ferry::cpu {
namespace {

/// An order between threads that oneTBB keeps but the thread sanitizer cannot
/// see, because the distribution's oneTBB is not built with it.
struct Order {
  void before() { tell(true); }
  void after() { tell(false); }

 private:
  void tell([[maybe_unused]] bool first) {
#if defined(FERRY_THREAD_SANITIZER)
    first ? __tsan_release(this) : __tsan_acquire(this);
#endif
  }
};

constexpr int kMostThreads = 4096;

int choose_thread_count() {
  const int possible = usable_processors();
  const char* text = std::getenv("FERRY_NUM_THREADS");
  if (text == nullptr || *text == '\0') return possible;
  int wanted = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, wanted);
  if (error == std::errc() && stop == end && wanted >= 1 && wanted <= kMostThreads) return wanted;
  const std::string line = "FERRY_NUM_THREADS='" + std::string(text) + "' is no number from 1 to " +
                           std::to_string(kMostThreads) + ": " + std::to_string(possible) +
                           " threads are used";
  sdk::log(FERRY_LOG_WARN, line.c_str());
  return possible;
}

/// Made on first use and never destroyed: a static's destructor could run while
/// another thread still computes.
tbb::task_arena& arena() {
  static auto* const object = new tbb::task_arena(thread_count());
  return *object;
}

}  // namespace

int thread_count() {
  static const int count = choose_thread_count();
  return count;
}

void stop_threads() {
  arena().terminate();
  tbb::task_scheduler_handle scheduler{tbb::attach{}};
  tbb::finalize(scheduler, std::nothrow);
}

namespace detail {

void run_parallel(int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
  const auto run = [&] {
    // Several pieces a thread even out what other programs take away.
    const int64_t pieces = std::min<int64_t>((n + grain - 1) / grain, int64_t{4} * thread_count());
    const int64_t size = (n + pieces - 1) / pieces;
    Order begun;
    Order done;
    begun.before();
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<int64_t>& range) {
          begun.after();
          for (int64_t p = range.begin(); p < range.end(); ++p) {
            const int64_t begin = p * size;
            const int64_t end = std::min(begin + size, n);
            if (begin < end) body(context, begin, end);
          }
          done.before();
        },
        tbb::simple_partitioner());
    done.after();
  };
  // Inside a task already: the same arena goes on.
  if (tbb::this_task_arena::current_thread_index() >= 0 &&
      tbb::this_task_arena::max_concurrency() == thread_count()) {
    run();
  } else {
    arena().execute(run);
  }
}

}  // namespace detail
}  // namespace ferry::cpu
