// SPDX-License-Identifier: Apache-2.0
//
// The recorder of the memory history, which the allocators feed.
#ifndef FERRY_RUNTIME_MEMORY_HISTORY_H
#define FERRY_RUNTIME_MEMORY_HISTORY_H

#include <atomic>

#include "ferry/memory.h"

namespace ferry::runtime {

extern std::atomic<bool> memory_history_on;

/// One relaxed load: what an allocation pays while nothing is recorded.
inline bool records_memory() noexcept { return memory_history_on.load(std::memory_order_relaxed); }

/// Adds the time and keeps the event; where there is no host memory for it, it
/// is counted as dropped. Thread-safe.
void record_memory_event(MemoryEvent event) noexcept;

/// Gives every event, but for its time, to `listener` too, for the life of the
/// process and whatever record_memory_history() says. Called once, before the
/// first allocation. It runs under the allocator's lock.
using MemoryListener = void (*)(const MemoryEvent& event) noexcept;
void set_memory_listener(MemoryListener listener);

/// Begins to record where FERRY_MEMORY_HISTORY names a file, and saves at exit.
/// Called once, before the first allocation.
void start_memory_history_from_environment();

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_MEMORY_HISTORY_H
