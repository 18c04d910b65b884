// SPDX-License-Identifier: Apache-2.0
//
// parallel_for on a oneTBB arena of the right width.
#include "parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ferry/sdk/plugin.h"
#include "processor.h"

namespace ferry::cpu {
namespace {

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

namespace detail {

void run_parallel(int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* context) {
  const auto run = [&] {
    // Several pieces a thread even out what other programs take away.
    const int64_t pieces = std::min<int64_t>((n + grain - 1) / grain, int64_t{4} * thread_count());
    const int64_t size = (n + pieces - 1) / pieces;
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, pieces, 1),
        [&](const tbb::blocked_range<int64_t>& range) {
          for (int64_t p = range.begin(); p < range.end(); ++p) {
            const int64_t begin = p * size;
            const int64_t end = std::min(begin + size, n);
            if (begin < end) body(context, begin, end);
          }
        },
        tbb::simple_partitioner());
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
