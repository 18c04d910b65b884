// SPDX-License-Identifier: Apache-2.0
//
// CachingAllocator: size classes, counters, recovery from out-of-memory.
#include "runtime/allocator.h"

#include <algorithm>
#include <bit>
#include <string>

#include "ferry/error.h"
#include "runtime/device_state.h"
#include "runtime/host_services.h"
#include "runtime/status.h"

namespace ferry::runtime {

uint64_t CachingAllocator::class_bytes(uint64_t bytes) noexcept {
  if (bytes <= kMinBlock) return kMinBlock;
  // Eight steps between powers of two, none finer than kMinBlock.
  const int top = std::bit_width(bytes - 1);
  const uint64_t step = std::max<uint64_t>(uint64_t{1} << std::max(top - 4, 0), kMinBlock);
  return (bytes + step - 1) / step * step;
}

int CachingAllocator::class_index(uint64_t size) noexcept {
  const int top = std::bit_width(size - 1);
  const uint64_t step = uint64_t{1} << std::max(top - 4, 0);
  return top * 8 + static_cast<int>((size - 1) / step - 8) % 8;
}

bool CachingAllocator::allocate_raw(uint64_t bytes, ferry_memory* memory) {
  const hal::Status status = device_.hal().allocator().allocate(hal::Space::kDevice, bytes, memory);
  if (status.code() == FERRY_E_OOM) return false;
  device_.check(status, "alloc");
  return true;
}

Block CachingAllocator::allocate(uint64_t bytes) {
  if (bytes > (uint64_t{1} << 62)) throw_out_of_memory(bytes);
  const uint64_t size = class_bytes(bytes);
  Block block{{0}, size};
  {
    std::lock_guard lock(mutex_);
    auto& cached = cached_[class_index(size)];
    if (!cached.empty()) {
      block.memory = cached.back();
      cached.pop_back();
    }
    if (block.memory.handle != 0) {
      counters_.allocated += size;
      counters_.peak = std::max(counters_.peak, counters_.allocated);
      return block;
    }
  }
  if (!allocate_raw(size, &block.memory)) {
    empty_cache();
    if (!allocate_raw(size, &block.memory)) throw_out_of_memory(size);
  }
  std::lock_guard lock(mutex_);
  counters_.reserved += size;
  counters_.allocated += size;
  counters_.peak = std::max(counters_.peak, counters_.allocated);
  return block;
}

void CachingAllocator::free(ferry_memory memory, uint64_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  counters_.allocated -= bytes;
  try {
    cached_[class_index(bytes)].push_back(memory);
  } catch (const std::bad_alloc&) {
    // No host memory for the cache's list: the block stays reserved but unused.
  }
}

void CachingAllocator::empty_cache() {
  // A cached block may still be used by work in flight.
  device_.synchronize();
  std::lock_guard lock(mutex_);
  for (int c = 0; c < kClasses; ++c) {
    for (auto& cached = cached_[c]; !cached.empty(); cached.pop_back()) {
      device_.check(device_.hal().allocator().release(cached.back()), "empty_cache");
      // The class's size is known from its index alone.
      const int top = c / 8;
      const uint64_t step = uint64_t{1} << std::max(top - 4, 0);
      counters_.reserved -= (static_cast<uint64_t>(c % 8) + 9) * step;
    }
  }
}

CachingAllocator::Counters CachingAllocator::counters() const {
  std::lock_guard lock(mutex_);
  return counters_;
}

void CachingAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  counters_.peak = counters_.allocated;
}

void CachingAllocator::throw_out_of_memory(uint64_t requested) {
  (void)take_failure();
  uint64_t free_bytes = 0;
  uint64_t total = device_.info().memory_total;
  if (!device_.hal().memory_info(&free_bytes, &total).ok()) (void)take_failure();
  const Counters c = counters();
  const auto mib = [](uint64_t bytes) {
    return std::to_string(bytes >> 20) + "." + std::to_string((bytes & 0xfffff) * 10 >> 20) +
           " MiB";
  };
  throw OutOfMemoryError("[alloc] " + device_.device().str() + " has no room for " +
                             mib(requested) + ": " + mib(total) + " in all, " + mib(free_bytes) +
                             " free; this process holds " + mib(c.allocated) + " in tensors and " +
                             mib(c.reserved - c.allocated) +
                             " cached. Free tensors, use smaller batches or another device",
                         requested, free_bytes, total, c.allocated, c.reserved);
}

}  // namespace ferry::runtime
