// SPDX-License-Identifier: Apache-2.0
//
// Memory of one simulated device: accounted, and out of the host's reach.
#ifndef FERRY_SIM_MEMORY_H
#define FERRY_SIM_MEMORY_H

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ferry/hal/allocator.h"
#include "options.h"

namespace ferry::sim {

/// Handles are addresses inside a range that nobody may touch, so that a host
/// that takes one for its own faults at once; or plain numbers. The bytes lie
/// elsewhere, and every access is looked up. A fresh block is full of NaN; a
/// freed one is overwritten, and its handle comes back late, so that a stale
/// one is noticed. Pinned memory is the host's own, with room of its own.
/// Thread-safe.
class Memory final : public hal::Allocator {
 public:
  Memory(std::string device_name, const Options& options);
  ~Memory() override;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  hal::Status allocate(hal::Space space, uint64_t bytes, ferry_memory* memory) override;
  hal::Status release(ferry_memory memory) override;

  uint64_t free_bytes() const;
  uint64_t total_bytes() const noexcept { return total_; }

  /// The bytes behind a place, where `extent` of them lie inside one live
  /// block of this device; else null, with the reason in `*why`.
  char* find(ferry_location at, uint64_t extent, std::string* why) const;

  /// From now on there is nothing to allocate: the device is lost.
  void lose() noexcept { lost_ = true; }

 private:
  struct Free {
    void operator()(char* data) const noexcept { std::free(data); }
  };
  struct Block {
    uint64_t bytes = 0;
    std::unique_ptr<char, Free> data;
  };

  /// Both under mutex_.
  hal::Status allocate_pinned(uint64_t bytes, ferry_memory* memory);
  bool release_pinned(uint64_t handle);
  /// A handle for `size` bytes that no live block has; 0 where none is left.
  uint64_t new_handle(uint64_t size);
  /// Why `handle` is no live block here, for people.
  std::string describe_stranger(uint64_t handle) const;

  std::string name_;
  uint64_t total_, pinned_total_;
  bool opaque_;
  uint64_t reserved_ = 0;  // bytes of the forbidden range
  uint64_t first_ = 0;     // its begin
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> live_, pinned_;  // by handle
  uint64_t used_ = 0, pinned_used_ = 0, next_ = 0;
};

}  // namespace ferry::sim

#endif  // FERRY_SIM_MEMORY_H
