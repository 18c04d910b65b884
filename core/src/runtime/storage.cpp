// SPDX-License-Identifier: Apache-2.0
//
// Storage: where its memory comes from and goes to.
#include "runtime/storage.h"

#include <memory>

#include "runtime/device_state.h"

namespace ferry::detail {

Storage::~Storage() {
  if (deleter) {
    deleter(host);
  } else if (memory.handle != 0) {
    device->allocator().free(memory, block_bytes);
  }
}

void retain(Storage* storage) noexcept { storage->refs.fetch_add(1, std::memory_order_relaxed); }
void release(Storage* storage) noexcept {
  if (storage->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage;
}

Storage* new_storage(runtime::DeviceState& device, uint64_t bytes) {
  auto storage = std::make_unique<Storage>();
  storage->device = &device;
  if (bytes > 0) {
    const runtime::Block block = device.allocator().allocate(bytes);
    storage->memory = block.memory;
    storage->bytes = bytes;
    storage->block_bytes = block.bytes;
    if (device.host_accessible()) {
      storage->host = reinterpret_cast<std::byte*>(block.memory.handle);
    }
  }
  return storage.release();
}

}  // namespace ferry::detail
