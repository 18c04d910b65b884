// SPDX-License-Identifier: Apache-2.0
//
// What the CachingAllocator tells: its numbers, how its segments are cut, its
// history, and why there was no room.
#include <algorithm>
#include <string>

#include "ferry/error.h"
#include "runtime/allocator.h"
#include "runtime/device_state.h"
#include "runtime/host_services.h"
#include "runtime/memory_history.h"
#include "runtime/thread_cache.h"

namespace ferry::runtime {
namespace {

std::string readable_bytes(uint64_t bytes) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const uint64_t tenths = (bytes & (kMiB - 1)) * 10 >> 20;
  return bytes < kMiB ? std::to_string(bytes) + " bytes"
                      : std::to_string(bytes >> 20) + "." + std::to_string(tenths) + " MiB";
}

}  // namespace

void CachingAllocator::record(MemoryEvent::Kind kind, const Block& block, int stream) noexcept {
  MemoryEvent event;
  event.kind = kind;
  event.device = device_.device();
  event.pinned = space_ == hal::Space::kPinned;
  event.segment = block.segment != nullptr ? block.segment->memory.handle : 0;
  event.offset = block.offset;
  event.bytes = block.bytes;
  event.stream = stream;
  event.allocated = allocated();
  event.reserved = reserved();
  record_memory_event(event);
}

MemoryStats CachingAllocator::stats() {
  MemoryStats out;
  {
    const std::lock_guard lock(caches_mutex_);
    out.allocations = gone_allocations_;
    for (const ThreadCache* cache : caches_) out.allocations += cache->allocations();
  }
  const std::lock_guard lock(mutex_);
  out.allocated = allocated();
  out.peak_allocated = peak();
  out.reserved = reserved();
  out.peak_reserved = peak_reserved_;
  out.limit = limit();
  out.allocations += central_allocations_;
  out.driver_allocations = driver_allocations_;
  out.driver_frees = driver_frees_;
  out.retries = retries_;
  out.out_of_memory = ooms_;
  out.segments = firsts_.size();
  for (const FreeSet* set : {&free_small_, &free_large_}) {
    if (!set->empty()) out.largest_free = std::max(out.largest_free, (*set->rbegin())->bytes);
  }
  return out;
}

std::vector<MemorySegment> CachingAllocator::snapshot() {
  const std::lock_guard lock(mutex_);
  std::vector<MemorySegment> out;
  for (const Block* first : firsts_) {
    MemorySegment segment;
    segment.address = first->segment->memory.handle;
    segment.bytes = first->segment->bytes;
    for (const Block* b = first; b != nullptr; b = b->after) {
      segment.blocks.push_back({b->offset, b->bytes, !b->free});
    }
    out.push_back(std::move(segment));
  }
  return out;
}

void CachingAllocator::throw_out_of_memory(uint64_t requested) {
  if (records_memory()) {
    Block wanted;
    wanted.bytes = requested;
    record(MemoryEvent::Kind::kOutOfMemory, wanted, -1);
  }
  const bool pinned = space_ == hal::Space::kPinned;
  uint64_t free_bytes = 0;
  uint64_t total = pinned ? 0 : device_.info().memory_total;
  if (!pinned && !device_.hal().memory_info(&free_bytes, &total).ok()) (void)take_failure();
  const MemoryStats s = stats();
  const uint64_t cached = s.reserved - std::min(s.reserved, s.allocated);
  std::string text = "[alloc] " + device_.device().str() + " has no room for " +
                     readable_bytes(requested) + (pinned ? " of pinned host memory: " : ": ");
  if (!pinned) {
    text += readable_bytes(total) + " in all, " + readable_bytes(free_bytes) + " free; ";
    const uint64_t others = total - std::min(total, free_bytes + s.reserved);
    if (free_bytes > 0 && others > total / 100) {
      text += "others hold " + readable_bytes(others) + "; ";
    }
  }
  text += "this process holds " + readable_bytes(s.allocated) + " in tensors and " +
          readable_bytes(cached) + " cached";
  if (s.limit != 0) text += ", of at most " + readable_bytes(s.limit) + " (set_memory_limit)";
  if (cached >= requested && s.largest_free < requested) {
    text += ". The cache is in pieces between live tensors, the largest of " +
            readable_bytes(s.largest_free) + ": free older tensors";
  } else if (pinned) {
    text += ". Free pinned tensors, or go without pinned memory";
  } else {
    text += ". Free tensors, use smaller batches or another device";
  }
  throw OutOfMemoryError(text, requested, free_bytes, total, s.allocated, s.reserved);
}

}  // namespace ferry::runtime
