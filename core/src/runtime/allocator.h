// SPDX-License-Identifier: Apache-2.0
//
// CachingAllocator: cuts a device's memory into blocks, keeps them for reuse in
// stream order, counts, and recovers from out-of-memory.
#ifndef FERRY_RUNTIME_ALLOCATOR_H
#define FERRY_RUNTIME_ALLOCATOR_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "ferry/abi/types.h"
#include "ferry/hal/allocator.h"
#include "ferry/memory.h"
#include "runtime/use.h"

namespace ferry::runtime {

class DeviceState;
class ThreadCache;

/// One obtained piece of the device's memory, cut into blocks.
struct Segment {
  ferry_memory memory{0};
  uint64_t bytes = 0;
  bool small = false;
};

/// A part of a segment; its neighbours are kept for merging.
struct Block {
  Segment* segment = nullptr;
  uint64_t offset = 0, bytes = 0;
  Block* before = nullptr;
  Block* after = nullptr;
  bool free = false;
  std::vector<Use> uses;  ///< while free: what must be done first on another stream

  ferry_location location() const noexcept { return {segment->memory, offset}; }
};

/// Blocks up to kSmallBlock are cut from segments of 2 MiB, larger ones from
/// segments of 16 MiB or, from 4 MiB on, of their own; freed neighbours are merged. A freed
/// block is reused at once on the stream that used it, and on another one after
/// an event. Blocks of up to ThreadCache::kMost bytes come and go through a
/// cache of the calling thread. Thread-safe.
///
/// Host memory is handed to the host itself: there a block that a copy still
/// uses is passed over, until several wait or there is no room.
class CachingAllocator {
 public:
  CachingAllocator(DeviceState& device, hal::Space space);
  ~CachingAllocator();

  /// A block of at least `bytes` >= 1, free for work on `stream` from now on.
  /// OutOfMemoryError when the cache was given back and there is still no room;
  /// UnsupportedError where the device has no such memory.
  Block* allocate(uint64_t bytes, StreamState& stream);
  /// Blocks of at least sizes[i] >= 1 bytes that lie one after the other in one
  /// segment; each is given back by itself. Errors as above.
  std::vector<Block*> allocate_run(std::span<const uint64_t> sizes, StreamState& stream);
  /// Takes a block back. `uses` is what streams may still do with it; empty
  /// where all was on the default stream, or done.
  void free(Block* block, std::vector<Use> uses) noexcept;
  /// Waits for the work that uses cached blocks, then gives all segments that
  /// hold nothing else back to the driver.
  void empty_cache();

  /// Whether the device has said that it has no such memory.
  bool missing() const noexcept { return missing_.load(std::memory_order_relaxed); }

  /// At most this many bytes are obtained from the driver; 0: no limit.
  void set_limit(uint64_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }
  uint64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }

  uint64_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }
  uint64_t reserved() const noexcept { return reserved_.load(std::memory_order_relaxed); }
  uint64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  void reset_peak() noexcept;
  MemoryStats stats();
  std::vector<MemorySegment> snapshot();

  uint64_t round(uint64_t bytes) const noexcept {
    return (bytes + granularity_ - 1) / granularity_ * granularity_;
  }
  uint64_t granularity() const noexcept { return granularity_; }
  DeviceState& device() const noexcept { return device_; }
  /// Number of this allocator among all; small.
  size_t ordinal() const noexcept { return ordinal_; }

  static constexpr uint64_t kSmallBlock = uint64_t{1} << 20;

 private:
  friend class ThreadCache;
  struct Smaller {
    bool operator()(const Block* a, const Block* b) const noexcept {
      return a->bytes != b->bytes ? a->bytes < b->bytes : std::less<>()(a, b);
    }
  };
  using FreeSet = std::set<Block*, Smaller>;

  Block* allocate_central(uint64_t bytes, StreamState& stream);
  /// Under mutex_.
  Block* find(uint64_t bytes, StreamState& stream, bool patient);
  Block* find_in(FreeSet& set, uint64_t bytes, StreamState& stream, bool patient);
  Block* grow(uint64_t bytes, bool exact);
  Block* cut(Block* block, uint64_t bytes);
  void put_back(Block* block);
  void release_free_segments();
  Block* obtain(uint64_t segment_bytes, bool small);
  FreeSet& free_set(const Block& block) noexcept {
    return block.segment->small ? free_small_ : free_large_;
  }

  Block* make_room(uint64_t bytes, StreamState& stream);
  std::vector<Use> uses_of_cached();
  void wait_for_cached_work();
  void poll_cached_work();
  void give_back(Block* block, std::vector<Use> uses) noexcept;
  void flush_thread_caches();
  void count_allocated(uint64_t bytes) noexcept;
  void record(MemoryEvent::Kind kind, const Block& block, int stream) noexcept;
  [[noreturn]] void throw_out_of_memory(uint64_t requested);

  DeviceState& device_;
  hal::Space space_;
  uint64_t granularity_;
  size_t ordinal_;
  std::atomic<bool> missing_{false};
  std::atomic<bool> used_by_copies_{false};  // whether to ask for the work of cached blocks
  std::atomic<uint64_t> limit_{0};
  std::atomic<uint64_t> reserved_{0};
  // Written by all threads, so on a cache line without what they only read.
  alignas(64) std::atomic<uint64_t> allocated_{0};
  std::atomic<uint64_t> peak_{0};

  alignas(64) std::mutex mutex_;
  FreeSet free_small_, free_large_;
  std::vector<Block*> firsts_;  // the first block of each segment, for walking
  uint64_t peak_reserved_ = 0, driver_allocations_ = 0, driver_frees_ = 0, ooms_ = 0, retries_ = 0;
  uint64_t central_allocations_ = 0;

  std::mutex caches_mutex_;
  std::vector<ThreadCache*> caches_;
  uint64_t gone_allocations_ = 0;  // of threads that ended
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_ALLOCATOR_H
