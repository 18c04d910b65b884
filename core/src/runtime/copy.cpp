// SPDX-License-Identifier: Apache-2.0
//
// Byte copies: on one device, between host and device, and between any two
// devices through host memory.
#include "runtime/copy.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "runtime/device_state.h"

namespace ferry::runtime {
namespace {

ferry_location location(Place place) { return {place.storage->memory, place.offset}; }

void wait(DeviceState& device) {
  if (device.stream() != nullptr) device.check(device.stream()->synchronize(), "copy");
}

/// Enough to make the fixed cost of a copy small, little enough to stay cheap
/// on a small host.
constexpr uint64_t kStagingBytes = uint64_t{8} << 20;

}  // namespace

void copy_from_host(Place dst, const void* src, uint64_t bytes) {
  if (dst.storage->host != nullptr) {
    dst.storage->device->wait_if_asynchronous();
    std::memcpy(dst.storage->host + dst.offset, src, bytes);
    return;
  }
  DeviceState& device = *dst.storage->device;
  const std::lock_guard lock(device.stream_lock());
  device.check(device.hal().copy_from_host(device.stream(), location(dst), src, bytes), "copy");
  wait(device);
}

void copy_to_host(void* dst, Place src, uint64_t bytes) {
  if (src.storage->host != nullptr) {
    src.storage->device->wait_if_asynchronous();
    std::memcpy(dst, src.storage->host + src.offset, bytes);
    return;
  }
  DeviceState& device = *src.storage->device;
  const std::lock_guard lock(device.stream_lock());
  device.check(device.hal().copy_to_host(device.stream(), dst, location(src), bytes), "copy");
  wait(device);
}

void copy_bytes(Place dst, Place src, uint64_t bytes) {
  if (src.storage->host != nullptr) {
    src.storage->device->wait_if_asynchronous();
    copy_from_host(dst, src.storage->host + src.offset, bytes);
  } else if (dst.storage->host != nullptr) {
    dst.storage->device->wait_if_asynchronous();
    copy_to_host(dst.storage->host + dst.offset, src, bytes);
  } else if (dst.storage->device == src.storage->device) {
    DeviceState& device = *dst.storage->device;
    const std::lock_guard lock(device.stream_lock());
    device.check(device.hal().copy(device.stream(), location(dst), location(src), bytes), "copy");
  } else {
    const uint64_t chunk = std::min(bytes, kStagingBytes);
    const auto staging = std::make_unique_for_overwrite<std::byte[]>(chunk);
    for (uint64_t done = 0; done < bytes; done += chunk) {
      const uint64_t n = std::min(chunk, bytes - done);
      copy_to_host(staging.get(), {src.storage, src.offset + done}, n);
      copy_from_host({dst.storage, dst.offset + done}, staging.get(), n);
    }
  }
}

}  // namespace ferry::runtime
