// SPDX-License-Identifier: Apache-2.0
//
// Storage: a counted block of one device's memory, or of the caller's.
#ifndef FERRY_RUNTIME_STORAGE_H
#define FERRY_RUNTIME_STORAGE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ferry/abi/types.h"
#include "runtime/object_pool.h"
#include "runtime/use.h"

namespace ferry::runtime {
class CachingAllocator;
class DeviceState;
struct Block;
}  // namespace ferry::runtime

namespace ferry::detail {

/// Counted by the tensors over it.
struct Storage {
  std::atomic<uint32_t> refs{1};
  bool pinned = false;
  runtime::DeviceState* device = nullptr;
  runtime::Block* block = nullptr;  ///< null: the caller's memory, or none
  runtime::CachingAllocator* source = nullptr;
  /// Where it begins. For memory of the caller's the handle is its address.
  ferry_location at{{0}, 0};
  uint64_t bytes = 0;         ///< asked for
  std::byte* host = nullptr;  ///< address, where the host may touch it
  /// Set for memory of the caller's: called instead of freeing.
  std::function<void(void*)> deleter;
  runtime::UseRecord uses;

  ~Storage();

  static void* operator new(size_t bytes) { return ObjectPool<Storage>::take(bytes); }
  static void operator delete(void* piece) noexcept { ObjectPool<Storage>::give(piece); }

  /// Blocks until every use is done that other streams may still make.
  void wait_for_uses() const;
};

void retain(Storage* storage) noexcept;
void release(Storage* storage) noexcept;

/// Fresh storage of at least `bytes` (0 is allowed) with one reference, for use
/// on the calling thread's current stream.
Storage* new_storage(runtime::DeviceState& device, uint64_t bytes);
/// Fresh storages of sizes[i] >= 1 bytes that lie one after the other, on the
/// calling thread's current stream: one copy from the first on reaches them all.
/// Each has one reference and is freed by itself.
std::vector<Storage*> new_storage_run(runtime::DeviceState& device,
                                      std::span<const uint64_t> sizes);
/// Host memory from the pinned allocator of `accelerator`; its device is the CPU.
Storage* new_pinned_storage(runtime::DeviceState& accelerator, uint64_t bytes);

}  // namespace ferry::detail

#endif  // FERRY_RUNTIME_STORAGE_H
