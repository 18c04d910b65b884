// SPDX-License-Identifier: Apache-2.0
//
// The copy planner: on one device, between host and device, between devices of
// one plugin, and between any two through host memory.
#include "runtime/copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "runtime/device_state.h"
#include "runtime/peer.h"
#include "runtime/pinned.h"
#include "runtime/submission.h"

namespace ferry::runtime {
namespace {

/// Below this the host's own memcpy is fastest; above it the CPU backend copies
/// with several threads.
constexpr uint64_t kPlainCopy = uint64_t{256} << 10;
/// Enough to make the fixed cost of a copy small, little enough that the two
/// directions soon overlap.
constexpr uint64_t kStagingBytes = uint64_t{4} << 20;
constexpr size_t kStagingBuffers = 3;

ferry_location location(Place place) {
  ferry_location at = place.storage->at;
  at.offset += place.offset;
  return at;
}

struct Release {
  void operator()(detail::Storage* storage) const noexcept { detail::release(storage); }
};
using Holder = std::unique_ptr<detail::Storage, Release>;

std::byte* address(Place place) { return place.storage->host + place.offset; }

/// Waits until the host may touch the storage itself.
void wait_for_host(const detail::Storage& storage) {
  storage.wait_for_uses();
  storage.device->wait_if_asynchronous();
}

void copy_on_host(void* dst, const void* src, uint64_t bytes) {
  if (bytes <= kPlainCopy) {
    std::memcpy(dst, src, bytes);
    return;
  }
  DeviceState& cpu = DeviceState::get(Device());
  const ferry_location to = {{reinterpret_cast<uint64_t>(dst)}, 0};
  cpu.check(cpu.hal().copy_from_host(nullptr, to, src, bytes), "copy");
}

/// `from` stays unchanged until the use is done.
Use submit_upload(Place dst, const void* src, detail::Storage* from, uint64_t bytes) {
  DeviceState& device = *dst.storage->device;
  Submission work(device);
  if (from != nullptr) work.reads(*from);
  work.writes(*dst.storage);
  work.begin();
  device.check(device.hal().copy_from_host(work.stream(), location(dst), src, bytes), "copy");
  return work.end("copy to device");
}

Use submit_download(void* dst, detail::Storage* to, Place src, uint64_t bytes) {
  DeviceState& device = *src.storage->device;
  Submission work(device);
  work.reads(*src.storage);
  if (to != nullptr) work.writes(*to);
  work.begin();
  device.check(device.hal().copy_to_host(work.stream(), dst, location(src), bytes), "copy");
  return work.end("copy to host");
}

void copy_on_device(Place dst, Place src, uint64_t bytes) {
  DeviceState& device = *dst.storage->device;
  Submission work(device);
  work.reads(*src.storage);
  work.writes(*dst.storage);
  work.begin();
  device.check(device.hal().copy(work.stream(), location(dst), location(src), bytes), "copy");
  (void)work.end("copy on device");
}

/// Host memory between two devices: pinned where one of them has it.
Holder staging_buffer(DeviceState& target, DeviceState& source, uint64_t bytes) {
  for (DeviceState* device : {&source, &target}) {
    if (detail::Storage* pinned = try_pinned_storage(*device, bytes)) return Holder(pinned);
  }
  return Holder(detail::new_storage(DeviceState::get(Device()), bytes));
}

/// Through a ring of host buffers, so that the next piece comes down while the
/// one before it goes up. Each buffer records its copies, and so outlives them
/// whatever happens.
void copy_staged(Place dst, Place src, uint64_t bytes) {
  struct Buffer {
    Holder memory;
    Use upload;
  };
  std::array<Buffer, kStagingBuffers> ring;
  const uint64_t piece = std::min(bytes, kStagingBytes);
  size_t next = 0;
  for (uint64_t done = 0; done < bytes; done += piece) {
    Buffer& buffer = ring[next++ % kStagingBuffers];
    const uint64_t n = std::min(piece, bytes - done);
    if (buffer.memory == nullptr) {
      buffer.memory = staging_buffer(*dst.storage->device, *src.storage->device, piece);
    }
    detail::Storage* between = buffer.memory.get();
    buffer.upload.wait();
    submit_download(between->host, between, {src.storage, src.offset + done}, n).wait();
    buffer.upload = submit_upload({dst.storage, dst.offset + done}, between->host, between, n);
  }
  for (const Buffer& buffer : ring) buffer.upload.wait();
}

}  // namespace

void copy_from_host(Place dst, const void* src, uint64_t bytes) {
  if (dst.storage->host != nullptr) {
    wait_for_host(*dst.storage);
    copy_on_host(address(dst), src, bytes);
    return;
  }
  submit_upload(dst, src, nullptr, bytes).wait();
}

void copy_to_host(void* dst, Place src, uint64_t bytes) {
  if (src.storage->host != nullptr) {
    wait_for_host(*src.storage);
    copy_on_host(dst, address(src), bytes);
    return;
  }
  submit_download(dst, nullptr, src, bytes).wait();
}

void copy_bytes(Place dst, Place src, uint64_t bytes, CopyMode mode) {
  const bool to_host = dst.storage->host != nullptr;
  const bool from_host = src.storage->host != nullptr;
  DeviceState& target = *dst.storage->device;
  DeviceState& source = *src.storage->device;
  if (to_host && from_host) {
    wait_for_host(*dst.storage);
    wait_for_host(*src.storage);
    copy_on_host(address(dst), address(src), bytes);
  } else if (to_host) {
    if (mode != CopyMode::kBlocking) {
      (void)submit_download(address(dst), dst.storage, src, bytes);
    } else {
      wait_for_host(*dst.storage);
      submit_download(address(dst), nullptr, src, bytes).wait();
    }
  } else if (from_host) {
    const bool kept = mode == CopyMode::kSourceKept;
    if (kept || (mode == CopyMode::kNonBlocking && src.storage->pinned)) {
      (void)submit_upload(dst, address(src), src.storage, bytes);
    } else {
      wait_for_host(*src.storage);
      submit_upload(dst, address(src), nullptr, bytes).wait();
    }
  } else if (&target == &source) {
    copy_on_device(dst, src, bytes);
  } else if (peer_copy_works(target, source)) {
    copy_to_peer(dst, src, bytes);
  } else {
    copy_staged(dst, src, bytes);
  }
}

}  // namespace ferry::runtime
