// SPDX-License-Identifier: Apache-2.0
//
// Memory of the devices: counters, cache, limits, and waiting for their work.
#ifndef FERRY_MEMORY_H
#define FERRY_MEMORY_H

#include <cstdint>
#include <string>
#include <vector>

#include "ferry/device.h"

namespace ferry {

/// Bytes, as the driver says now; asks the device, so it opens it.
struct MemoryInfo {
  uint64_t free = 0;
  uint64_t total = 0;
};
FERRY_API MemoryInfo mem_get_info(const Device& device);

/// Bytes in live tensors, after rounding up to the allocator's blocks. 0 before
/// the first use of the device, which this does not open. One atomic load.
FERRY_API uint64_t memory_allocated(const Device& device);
/// Bytes obtained from the driver: allocated, and cached for reuse.
FERRY_API uint64_t memory_reserved(const Device& device);
/// The highest memory_allocated() since start or the last reset.
FERRY_API uint64_t max_memory_allocated(const Device& device);
FERRY_API void reset_peak_memory_stats(const Device& device);

/// Of one device; bytes and counts since its first use.
struct MemoryStats {
  uint64_t allocated = 0, peak_allocated = 0;
  uint64_t reserved = 0, peak_reserved = 0;
  uint64_t limit = 0;               ///< 0: none
  uint64_t allocations = 0;         ///< blocks handed out
  uint64_t driver_allocations = 0;  ///< segments obtained
  uint64_t driver_frees = 0;        ///< segments given back
  uint64_t retries = 0;             ///< times the cache was given back to make room
  uint64_t out_of_memory = 0;       ///< times there was no room after that
  uint64_t segments = 0;            ///< held now
  uint64_t largest_free = 0;        ///< bytes of the largest cached block
};
FERRY_API MemoryStats memory_stats(const Device& device);
/// The same of the pinned host memory that the device's driver gave.
FERRY_API MemoryStats pinned_memory_stats(const Device& device);
/// The same as a table for people, several lines.
FERRY_API std::string memory_summary(const Device& device);

/// A piece of memory obtained from the driver, and how it is cut.
struct MemorySegment {
  struct Piece {
    uint64_t offset = 0, bytes = 0;
    bool in_use = false;  ///< or kept by a thread for its next small tensor
  };
  uint64_t address = 0;  ///< the plugin's handle
  uint64_t bytes = 0;
  std::vector<Piece> blocks;  ///< by offset, without gaps
};
FERRY_API std::vector<MemorySegment> memory_snapshot(const Device& device);

/// Ferry obtains at most `bytes` of the device; 0 takes the limit away. What it
/// holds already is not given back. FERRY_MEMORY_LIMIT="acme:0=64M" sets it from
/// outside: entries with `;` between, sizes with K, M or G.
FERRY_API void set_memory_limit(const Device& device, uint64_t bytes);

/// Gives the cached memory of the device, pinned memory too, back to its driver,
/// after waiting for the work that uses it. Does nothing for a device that was
/// not used.
FERRY_API void empty_cache(const Device& device);
/// The same for every device in use.
FERRY_API void empty_cache();

/// One entry of the memory history.
struct MemoryEvent {
  enum class Kind { kAllocate, kFree, kSegmentObtained, kSegmentReleased, kOutOfMemory };
  Kind kind = Kind::kAllocate;
  double microseconds = 0;  ///< since recording began
  Device device;
  bool pinned = false;   ///< host memory that the device's driver gave
  uint64_t segment = 0;  ///< the plugin's handle; 0 where out of memory
  uint64_t offset = 0, bytes = 0;
  int stream = -1;                       ///< number of the stream that asked; -1: none
  uint64_t allocated = 0, reserved = 0;  ///< of that memory, afterwards
};
/// Begins a new history of all devices' memory, or ends it: what was recorded
/// stays until the next one begins. It holds the last 200,000 events, and costs
/// a lock for each. FERRY_MEMORY_HISTORY=FILE records from the first use of a
/// device on and saves to the file at exit. Thread-safe, as all here.
FERRY_API void record_memory_history(bool on);
FERRY_API std::vector<MemoryEvent> memory_history();
/// Writes the history and a snapshot of every device in use as JSON, which
/// `ferry memory` draws. Error where the file cannot be written.
FERRY_API void save_memory_history(const std::string& file);

/// Blocks until all work of the device is done. Throws DeviceError when an
/// earlier operation failed there.
FERRY_API void synchronize(const Device& device);

/// How often an op ran on the CPU because its device lacks it, and what that
/// moved. See FERRY_FALLBACK.
struct FallbackStats {
  uint64_t calls = 0;
  uint64_t bytes = 0;
};
FERRY_API FallbackStats fallback_stats(const Device& device);

}  // namespace ferry

#endif  // FERRY_MEMORY_H
