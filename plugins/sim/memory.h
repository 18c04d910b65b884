// SPDX-License-Identifier: Apache-2.0
//
// Memory of one simulated device: accounted, and out of the host's reach.
#ifndef FERRY_SIM_MEMORY_H
#define FERRY_SIM_MEMORY_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "ferry/hal/allocator.h"

namespace ferry::sim {

/// Handles are addresses inside a range that nobody may touch, so that a host
/// that takes one for its own faults at once; or plain numbers. The bytes lie
/// elsewhere, and every access is looked up. Fresh memory is full of NaN, freed
/// memory of 0xDB. Thread-safe.
class Memory final : public hal::Allocator {
 public:
  Memory(std::string device_name, uint64_t bytes, bool opaque_handles);
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

 private:
  struct Range {
    uint64_t offset, bytes;  // in the backing
  };
  /// The handle of a block at `offset` of the backing.
  uint64_t handle_of(uint64_t offset) noexcept;

  std::string name_;
  uint64_t total_;
  bool opaque_;
  char* backing_ = nullptr;
  char* forbidden_ = nullptr;
  mutable std::mutex mutex_;
  std::map<uint64_t, Range> live_;     // by handle
  std::map<uint64_t, uint64_t> gaps_;  // free ranges of the backing: offset, bytes
  uint64_t used_ = 0, next_number_ = 1;
};

}  // namespace ferry::sim

#endif  // FERRY_SIM_MEMORY_H
