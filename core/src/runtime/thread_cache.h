// SPDX-License-Identifier: Apache-2.0
//
// ThreadCache: small blocks that one thread freed and will want again, so that
// most allocations take no lock that another thread wants.
#ifndef FERRY_RUNTIME_THREAD_CACHE_H
#define FERRY_RUNTIME_THREAD_CACHE_H

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/allocator.h"

namespace ferry::runtime {

/// Of one thread and one allocator. Its lock is wanted by others only when they
/// run out of memory. Holds blocks that the default stream alone used.
class ThreadCache {
 public:
  static constexpr uint64_t kMost = uint64_t{16} << 10;  ///< bytes of the largest block
  static constexpr uint64_t kMostHeld = uint64_t{1} << 20;

  /// The calling thread's; null while the thread ends, and where there are more
  /// allocators than places.
  static ThreadCache* of(CachingAllocator& owner) noexcept;

  explicit ThreadCache(CachingAllocator& owner);
  ~ThreadCache();

  /// A block of exactly `bytes` rounded, or null.
  Block* take(uint64_t rounded) noexcept;
  /// False where it is full.
  bool put(Block* block) noexcept;
  /// Gives everything to the allocator.
  void flush() noexcept;
  uint64_t allocations() const noexcept { return taken_.load(std::memory_order_relaxed); }

 private:
  CachingAllocator& owner_;
  /// Held for a few instructions, nearly always by the thread itself.
  class Lock;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::vector<std::vector<Block*>> bins_;  // by bytes / granularity
  uint64_t held_ = 0;
  std::atomic<uint64_t> taken_{0};
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_THREAD_CACHE_H
