// SPDX-License-Identifier: Apache-2.0
//
// Allocator: raw memory of one device. Caching, statistics and recovery from
// out-of-memory are the runtime's work, not the plugin's.
#ifndef FERRY_HAL_ALLOCATOR_H
#define FERRY_HAL_ALLOCATOR_H

#include "ferry/hal/status.h"

namespace ferry::hal {

enum class Space : uint32_t { kDevice = FERRY_SPACE_DEVICE, kPinned = FERRY_SPACE_PINNED };

class Allocator {
 public:
  virtual ~Allocator() = default;

  /// Allocates `bytes` >= 1, aligned for any dtype and at least to the
  /// alignment in the device's info. Contents are undefined. FERRY_E_OOM when
  /// there is no room, FERRY_E_MISSING for a space the device does not have.
  /// Any thread.
  virtual Status allocate(Space space, uint64_t bytes, ferry_memory* memory) = 0;

  /// Gives a block back. No work that uses it is pending. Any thread.
  virtual Status release(ferry_memory memory) = 0;
};

}  // namespace ferry::hal

#endif  // FERRY_HAL_ALLOCATOR_H
