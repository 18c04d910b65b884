// SPDX-License-Identifier: Apache-2.0
//
// Memory of the devices: counters, cache, and waiting for their work.
#ifndef FERRY_MEMORY_H
#define FERRY_MEMORY_H

#include <cstdint>

#include "ferry/device.h"

namespace ferry {

/// Bytes, as the driver says now; asks the device, so it opens it.
struct MemoryInfo {
  uint64_t free = 0;
  uint64_t total = 0;
};
FERRY_API MemoryInfo mem_get_info(const Device& device);

/// Bytes in live tensors, after rounding up to the allocator's block sizes.
/// 0 before the first use of the device, which this does not open.
FERRY_API uint64_t memory_allocated(const Device& device);
/// Bytes obtained from the driver: allocated, and cached for reuse.
FERRY_API uint64_t memory_reserved(const Device& device);
/// The highest memory_allocated() since start or the last reset.
FERRY_API uint64_t max_memory_allocated(const Device& device);
FERRY_API void reset_peak_memory_stats(const Device& device);
/// Gives the cached blocks of the device back to its driver, after waiting for
/// its work. Does nothing for a device that was not used.
FERRY_API void empty_cache(const Device& device);
/// The same for every device in use.
FERRY_API void empty_cache();

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
