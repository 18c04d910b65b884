// SPDX-License-Identifier: Apache-2.0
//
// Loading storages: mapped, copied on the host, or streamed to a device through
// a ring of host buffers, so that the file is read while the copy before it runs.
#include "io/storage_loader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/copy.h"
#include "runtime/pinned.h"

namespace ferry::io {
namespace {

/// Small enough that what was checked is still in the cache when it is copied.
constexpr uint64_t kRingBytes = uint64_t{4} << 20;

}  // namespace

StorageLoader::StorageLoader(std::shared_ptr<const MappedFile> file, const ReadOptions& options,
                             uint64_t total)
    : file_(std::move(file)), options_(options), progress_{0, total} {}

StorageLoader::~StorageLoader() = default;

void StorageLoader::tell(uint64_t bytes) {
  progress_.done += bytes;
  if (options_.progress) options_.progress(progress_);
}

bool StorageLoader::can_map(const runtime::DeviceState& device, Bytes contents, size_t item,
                            size_t swap) const {
  return options_.mmap && device.host_accessible() && device.device().is_cpu() && swap == 1 &&
         !contents.empty() && reinterpret_cast<uintptr_t>(contents.data()) % item == 0;
}

StorageHandle StorageLoader::mapped(runtime::DeviceState& cpu, Bytes contents) {
  StorageHandle handle(ferry::detail::new_storage(cpu, 0));
  ferry::detail::Storage& storage = *handle.get();
  // The mapping is private and may be written: changes do not reach the file.
  storage.host = const_cast<std::byte*>(contents.data());
  storage.at = {{reinterpret_cast<uint64_t>(contents.data())}, 0};
  storage.bytes = contents.size();
  storage.deleter = [file = file_](void*) {};
  return handle;
}

void StorageLoader::put(ferry::detail::Storage* storage, uint64_t offset, Bytes part, size_t swap) {
  const std::byte* source = part.data();
  if (swap > 1) {
    swapped_.assign(part.begin(), part.end());
    for (size_t i = 0; i + swap <= swapped_.size(); i += swap) {
      std::reverse(swapped_.data() + i, swapped_.data() + i + swap);
    }
    source = swapped_.data();
  }
  if (storage->host != nullptr) {
    runtime::copy_from_host({storage, offset}, source, part.size());
    return;
  }
  if (std::exchange(ring_device_, storage->device) != storage->device) ring_ = {};
  for (uint64_t done = 0; done < part.size(); done += kRingBytes) {
    const uint64_t count = std::min<uint64_t>(kRingBytes, part.size() - done);
    StorageHandle& buffer = ring_[next_++ % kBuffers];
    if (buffer.get() == nullptr) {
      ferry::detail::Storage* pinned = runtime::try_pinned_storage(*storage->device, kRingBytes);
      buffer =
          StorageHandle(pinned != nullptr ? pinned
                                          : ferry::detail::new_storage(
                                                runtime::DeviceState::get(Device()), kRingBytes));
    }
    buffer.get()->wait_for_uses();
    std::memcpy(buffer.get()->host, source + done, count);
    runtime::copy_bytes({storage, offset + done}, {buffer.get(), 0}, count,
                        runtime::CopyMode::kSourceKept);
  }
}

StorageHandle StorageLoader::load(runtime::DeviceState& device, Bytes contents, size_t item,
                                  size_t swap) {
  if (can_map(device, contents, item, swap)) {
    tell(contents.size());
    return mapped(device, contents);
  }
  StorageHandle handle(ferry::detail::new_storage(device, contents.size()));
  constexpr uint64_t kPart = ZipArchive::kPartBytes;
  for (uint64_t done = 0; done < contents.size(); done += kPart) {
    const Bytes part = contents.subspan(done, std::min<uint64_t>(kPart, contents.size() - done));
    put(handle.get(), done, part, swap);
    file_->drop(part);
    tell(part.size());
  }
  return handle;
}

StorageHandle StorageLoader::load(runtime::DeviceState& device, const ZipArchive& archive,
                                  const ZipRecord& record, size_t item, size_t swap) {
  if (const Bytes stored = archive.stored(record); can_map(device, stored, item, swap)) {
    tell(stored.size());
    return mapped(device, stored);
  }
  StorageHandle handle(ferry::detail::new_storage(device, record.size));
  uint64_t done = 0;
  archive.read(record, [&](Bytes part) {
    put(handle.get(), done, part, swap);
    done += part.size();
    tell(part.size());
  });
  return handle;
}

}  // namespace ferry::io
