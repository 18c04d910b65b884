// SPDX-License-Identifier: Apache-2.0
//
// DeviceState: an open device with its streams, allocators and kernels.
#ifndef FERRY_RUNTIME_DEVICE_STATE_H
#define FERRY_RUNTIME_DEVICE_STATE_H

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ferry/device.h"
#include "ferry/hal/device.h"
#include "ferry/memory.h"
#include "runtime/allocator.h"
#include "runtime/status.h"
#include "runtime/stream_state.h"

namespace ferry::runtime {

/// The kernel families that the core's ops are made of; kOther stands for those
/// of a plugin's own, which have no name here and no list in DeviceState.
enum class Family : uint8_t {
  kMap,
  kReduce,
  kMatmul,
  kConv,
  kPool,
  kGather,
  kSoftmax,
  kLayerNorm,
  kScatter,
  kSort,
  kScan,
  kAttention,
  kRope,
  kOther
};
inline constexpr int kFamilyCount = 13;
const char* family_name(Family family) noexcept;

/// Made when a device is first used, never destroyed: at exit its driver may be
/// gone already.
class DeviceState {
 public:
  /// Opens the device on first use. Thread-safe. Error in a process forked
  /// after a device was opened.
  static DeviceState& get(const Device& device);
  /// Null where the device was not used yet.
  static DeviceState* peek(const Device& device) noexcept;
  /// Every open device.
  static std::vector<DeviceState*> all();

  const Device& device() const noexcept { return device_; }
  const ferry_device_info& info() const noexcept { return info_; }
  hal::Device& hal() noexcept { return *hal_; }
  CachingAllocator& allocator() noexcept { return allocator_; }
  /// Host memory for fast copies. UnsupportedError on use where there is none.
  CachingAllocator& pinned() noexcept { return pinned_; }
  bool host_accessible() const noexcept { return host_accessible_; }
  /// No stream: all work is done when its call returns.
  bool synchronous() const noexcept { return default_stream().hal() == nullptr; }
  /// Number of this device among those opened; small.
  size_t ordinal() const noexcept { return ordinal_; }

  // ---- Streams ----------------------------------------------------------
  StreamState& default_stream() const noexcept { return *default_stream_; }
  /// The calling thread's, which is the default one unless it was set.
  StreamState& current_stream() const noexcept {
    return many_streams() ? chosen_stream() : *default_stream_;
  }
  void set_current_stream(StreamState& stream);
  /// A stream for a user's handle; given back by release_stream().
  StreamState& acquire_stream(int priority);
  void release_stream(StreamState& stream) noexcept;
  /// Whether a second stream was ever made: from then on uses are recorded.
  bool many_streams() const noexcept { return many_streams_.load(std::memory_order_acquire); }
  /// What stands for all work before that moment.
  Use before_many() const noexcept { return {default_stream_, flip_ticket_.load()}; }
  std::vector<StreamState*> streams();

  /// An event that is free; null where the device has none.
  std::unique_ptr<hal::Event> take_event();
  /// For reuse once `until` is done.
  void give_event(std::unique_ptr<hal::Event> event, const Use& until) noexcept;

  /// Blocks until the work of all streams is done; throws its first error.
  void synchronize();
  void wait_if_asynchronous() {
    if (!synchronous()) synchronize();
  }

  // ---- Errors -----------------------------------------------------------
  /// Throws where `status` failed; the text names this device.
  void check(hal::Status status, const char* where) {
    if (status.failed()) throw_failed(status, where);
  }
  /// Later calls fail at once.
  void declare_lost(const std::string& reason) noexcept;
  bool usable() const noexcept { return !broken_.load(std::memory_order_acquire); }
  /// DeviceLostError, or Error after a fork.
  void require_usable() const {
    if (!usable()) throw_unusable();
  }

  // ---- Kernels ----------------------------------------------------------
  std::span<const hal::Kernel* const> kernels(Family family) const noexcept {
    return kernels_[static_cast<size_t>(family)];
  }
  /// Those of families that the core's ops do not use.
  std::span<const hal::Kernel* const> other_kernels() const noexcept { return other_kernels_; }
  void count_fallback(uint64_t bytes) noexcept {
    fallback_calls_.fetch_add(1, std::memory_order_relaxed);
    fallback_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  FallbackStats fallback_stats() const noexcept {
    return {fallback_calls_.load(std::memory_order_relaxed),
            fallback_bytes_.load(std::memory_order_relaxed)};
  }

 private:
  DeviceState(const Device& device, const ferry_device_info& info, size_t ordinal,
              std::unique_ptr<hal::Device> hal, std::span<const hal::Kernel* const> kernels);
  static DeviceState& open(const Device& device);
  static void mark_forked() noexcept;
  StreamState& chosen_stream() const noexcept;
  [[noreturn]] void throw_failed(hal::Status status, const char* where);
  [[noreturn]] void throw_unusable() const;

  Device device_;
  ferry_device_info info_;
  size_t ordinal_;
  std::unique_ptr<hal::Device> hal_;
  CachingAllocator allocator_, pinned_;
  bool host_accessible_ = false;
  std::array<std::vector<const hal::Kernel*>, kFamilyCount> kernels_;
  std::vector<const hal::Kernel*> other_kernels_;

  StreamState* default_stream_ = nullptr;
  std::atomic<bool> many_streams_{false};
  std::atomic<uint64_t> flip_ticket_{0};
  std::mutex streams_mutex_;
  std::deque<std::unique_ptr<StreamState>> streams_;
  std::vector<StreamState*> free_streams_;

  struct Retired {
    std::unique_ptr<hal::Event> event;
    Use until;
  };
  std::mutex events_mutex_;
  bool has_events_ = true;
  std::vector<Retired> events_;

  std::atomic<bool> broken_{false};
  std::atomic<bool> forked_{false};
  mutable std::mutex lost_mutex_;
  std::string lost_reason_;

  std::atomic<uint64_t> fallback_calls_{0}, fallback_bytes_{0};
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_DEVICE_STATE_H
