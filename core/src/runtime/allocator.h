// SPDX-License-Identifier: Apache-2.0
//
// CachingAllocator: keeps the blocks that a device's driver gave, by size
// class, counts them, and recovers from out-of-memory.
#ifndef FERRY_RUNTIME_ALLOCATOR_H
#define FERRY_RUNTIME_ALLOCATOR_H

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "ferry/abi/types.h"

namespace ferry::runtime {

class DeviceState;

struct Block {
  ferry_memory memory{0};
  uint64_t bytes = 0;  ///< the size class, at least what was asked for
};

/// Sizes are rounded up to eight classes a power of two, so that at most an
/// eighth is wasted; at least kMinBlock bytes.
///
/// Every device has one stream in use, so a block may be handed out again as
/// soon as it is freed: its next use comes later in that stream's order.
/// Thread-safe.
class CachingAllocator {
 public:
  explicit CachingAllocator(DeviceState& device) : device_(device) {}

  /// A block of at least `bytes` >= 1. When the device has no room: gives the
  /// cache back and tries again, then throws OutOfMemoryError.
  Block allocate(uint64_t bytes);
  /// Takes a block back into the cache. `bytes` is Block::bytes.
  void free(ferry_memory memory, uint64_t bytes) noexcept;
  /// Waits for the device, then gives all cached blocks back to its driver.
  void empty_cache();

  struct Counters {
    uint64_t allocated = 0, reserved = 0, peak = 0;
  };
  Counters counters() const;
  void reset_peak();

  static uint64_t class_bytes(uint64_t bytes) noexcept;

  static constexpr uint64_t kMinBlock = 64;

 private:
  static constexpr int kClasses = 64 * 8;
  static int class_index(uint64_t class_bytes) noexcept;
  bool allocate_raw(uint64_t bytes, ferry_memory* memory);
  [[noreturn]] void throw_out_of_memory(uint64_t requested);

  DeviceState& device_;
  mutable std::mutex mutex_;
  std::array<std::vector<ferry_memory>, kClasses> cached_;
  Counters counters_;
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_ALLOCATOR_H
