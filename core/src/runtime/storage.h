// SPDX-License-Identifier: Apache-2.0
//
// Storage: a counted block of one device's memory, or of the caller's.
#ifndef FERRY_RUNTIME_STORAGE_H
#define FERRY_RUNTIME_STORAGE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "ferry/abi/types.h"

namespace ferry::runtime {
class DeviceState;
}

namespace ferry::detail {

/// Counted by the tensors over it.
struct Storage {
  std::atomic<uint32_t> refs{1};
  runtime::DeviceState* device = nullptr;
  ferry_memory memory{0};
  uint64_t bytes = 0;         ///< asked for
  uint64_t block_bytes = 0;   ///< of the allocator's block
  std::byte* host = nullptr;  ///< address, where the host may touch it
  /// Set for memory of the caller's: called instead of freeing.
  std::function<void(void*)> deleter;

  ~Storage();
};

void retain(Storage* storage) noexcept;
void release(Storage* storage) noexcept;

/// Fresh storage of at least `bytes` (0 is allowed) with one reference.
Storage* new_storage(runtime::DeviceState& device, uint64_t bytes);

}  // namespace ferry::detail

#endif  // FERRY_RUNTIME_STORAGE_H
