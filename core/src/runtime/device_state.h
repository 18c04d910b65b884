// SPDX-License-Identifier: Apache-2.0
//
// DeviceState: an open device with its stream, allocator and kernels.
#ifndef FERRY_RUNTIME_DEVICE_STATE_H
#define FERRY_RUNTIME_DEVICE_STATE_H

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "ferry/device.h"
#include "ferry/hal/device.h"
#include "ferry/memory.h"
#include "runtime/allocator.h"
#include "runtime/status.h"

namespace ferry::runtime {

/// The kernel families that the core's ops are made of.
enum class Family : uint8_t { kMap, kReduce, kMatmul, kConv, kPool, kGather };
inline constexpr int kFamilyCount = 6;
const char* family_name(Family family) noexcept;

/// Made when a device is first used, never destroyed: at exit its driver may be
/// gone already.
class DeviceState {
 public:
  /// Opens the device on first use. Thread-safe.
  static DeviceState& get(const Device& device);
  /// Null where the device was not used yet.
  static DeviceState* peek(const Device& device) noexcept;
  /// Every open device.
  static std::vector<DeviceState*> all();

  const Device& device() const noexcept { return device_; }
  const ferry_device_info& info() const noexcept { return info_; }
  hal::Device& hal() noexcept { return *hal_; }
  CachingAllocator& allocator() noexcept { return allocator_; }
  bool host_accessible() const noexcept { return host_accessible_; }

  /// The one stream of the device; null where it is synchronous. Hold
  /// stream_lock() around each use.
  hal::Stream* stream() noexcept { return stream_.get(); }
  std::mutex& stream_lock() noexcept { return stream_mutex_; }

  /// Blocks until the work is done; throws its error.
  void synchronize();
  /// The same for a device with a stream; nothing for one without. Before the
  /// host touches memory that it shares with the device.
  void wait_if_asynchronous() {
    if (stream_ != nullptr) synchronize();
  }
  /// Throws where `status` failed; the text names this device.
  void check(hal::Status status, const char* where) const {
    if (status.failed()) throw_failed(status, where);
  }

  std::span<const hal::Kernel* const> kernels(Family family) const noexcept {
    return kernels_[static_cast<size_t>(family)];
  }

  void count_fallback(uint64_t bytes) noexcept {
    fallback_calls_.fetch_add(1, std::memory_order_relaxed);
    fallback_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  FallbackStats fallback_stats() const noexcept {
    return {fallback_calls_.load(std::memory_order_relaxed),
            fallback_bytes_.load(std::memory_order_relaxed)};
  }

 private:
  DeviceState(const Device& device, const ferry_device_info& info, std::unique_ptr<hal::Device> hal,
              std::span<const hal::Kernel* const> kernels);
  [[noreturn]] void throw_failed(hal::Status status, const char* where) const;

  Device device_;
  ferry_device_info info_;
  std::unique_ptr<hal::Device> hal_;
  std::unique_ptr<hal::Stream> stream_;
  std::mutex stream_mutex_;
  CachingAllocator allocator_{*this};
  bool host_accessible_ = false;
  std::array<std::vector<const hal::Kernel*>, kFamilyCount> kernels_;
  std::atomic<uint64_t> fallback_calls_{0}, fallback_bytes_{0};
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_DEVICE_STATE_H
