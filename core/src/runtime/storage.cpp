// SPDX-License-Identifier: Apache-2.0
//
// Storage: where its memory comes from and goes to.
#include "runtime/storage.h"

#include <memory>

#include "runtime/device_state.h"
#include "runtime/log.h"

namespace ferry::detail {
namespace {

/// What a block must wait for before another stream may have it.
std::vector<runtime::Use> uses_of(const Storage& storage) {
  if (storage.uses.any()) return storage.uses.pending();
  return {};
}

Storage* from_allocator(runtime::DeviceState& device, runtime::CachingAllocator& source,
                        runtime::StreamState& stream, uint64_t bytes, bool host) {
  auto storage = std::make_unique<Storage>();
  storage->device = &device;
  if (bytes > 0) {
    runtime::Block* block = source.allocate(bytes, stream);
    storage->block = block;
    storage->source = &source;
    storage->at = block->location();
    storage->bytes = bytes;
    if (host) {
      storage->host = reinterpret_cast<std::byte*>(storage->at.memory.handle + storage->at.offset);
    }
  }
  return storage.release();
}

}  // namespace

Storage::~Storage() {
  if (deleter) {
    try {
      wait_for_uses();
    } catch (const std::exception& e) {
      // The work failed, so it does not touch the memory any more.
      runtime::log(LogLevel::kError, "memory", e.what());
    }
    deleter(host);
  } else if (block != nullptr) {
    source->free(block, uses_of(*this));
  }
}

void Storage::wait_for_uses() const {
  if (!uses.any()) return;
  for (const runtime::Use& use : uses.pending()) use.wait();
}

void retain(Storage* storage) noexcept { storage->refs.fetch_add(1, std::memory_order_relaxed); }
void release(Storage* storage) noexcept {
  if (storage->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete storage;
}

Storage* new_storage(runtime::DeviceState& device, uint64_t bytes) {
  return from_allocator(device, device.allocator(), device.current_stream(), bytes,
                        device.host_accessible());
}

std::vector<Storage*> new_storage_run(runtime::DeviceState& device,
                                      std::span<const uint64_t> sizes) {
  std::vector<std::unique_ptr<Storage>> made;
  for (size_t i = 0; i < sizes.size(); ++i) made.push_back(std::make_unique<Storage>());
  std::vector<Storage*> out(sizes.size());
  const std::vector<runtime::Block*> blocks =
      device.allocator().allocate_run(sizes, device.current_stream());
  for (size_t i = 0; i < sizes.size(); ++i) {
    out[i] = made[i].release();
    out[i]->device = &device;
    out[i]->block = blocks[i];
    out[i]->source = &device.allocator();
    out[i]->at = blocks[i]->location();
    out[i]->bytes = sizes[i];
    if (device.host_accessible()) {
      out[i]->host = reinterpret_cast<std::byte*>(out[i]->at.memory.handle + out[i]->at.offset);
    }
  }
  return out;
}

Storage* new_pinned_storage(runtime::DeviceState& accelerator, uint64_t bytes) {
  runtime::DeviceState& cpu = runtime::DeviceState::get(Device());
  Storage* storage = from_allocator(cpu, accelerator.pinned(), cpu.default_stream(), bytes, true);
  storage->pinned = true;
  return storage;
}

}  // namespace ferry::detail
