// SPDX-License-Identifier: Apache-2.0
//
// MemoryMap: every piece of memory that plugins gave, and how the caching
// allocator cut it, for the validate layer.
#ifndef FERRY_RUNTIME_LAYERS_MEMORY_MAP_H
#define FERRY_RUNTIME_LAYERS_MEMORY_MAP_H

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "runtime/layers/describe.h"

namespace ferry::runtime::layers {

/// Thread-safe. The functions that check return what is wrong, or nothing.
class MemoryMap {
 public:
  std::string add(const DeviceInfo& device, hal::Space space, uint64_t handle, uint64_t bytes);
  std::string remove(const DeviceInfo& device, uint64_t handle);
  void on_block(const BlockEvent& event);

  /// Whether [at, at + bytes) lies in live memory of the device: in one block of
  /// the caching allocator where that cut the memory.
  std::string check_range(const DeviceInfo& device, ferry_location at, uint64_t bytes);
  /// Whether the host may touch [at, at + bytes), as far as is known.
  std::string check_host_range(const void* at, uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;
  struct Piece {
    uint64_t bytes = 0, number = 0;
    double seconds = 0;  // since the layer began
    Origin origin;
  };
  struct Memory {
    Piece piece;
    hal::Space space = hal::Space::kDevice;
    bool host_reachable = false, is_address = false;
    bool cut = false;
    std::map<uint64_t, Piece> blocks;  // by offset
    std::map<uint64_t, Piece> freed;   // those that no live block covers
  };
  struct Freed {
    Piece piece;
    double seconds = 0;
  };
  struct DeviceMemory {
    std::map<uint64_t, Memory> alive;
    std::map<uint64_t, Freed> freed;
    std::deque<uint64_t> freed_order;
  };

  Piece make(uint64_t bytes);
  double seconds() const;
  static std::string text_of(const Piece& piece);
  std::string check_blocks(const Memory& memory, uint64_t offset, uint64_t bytes) const;

  std::mutex mutex_;
  const Clock::time_point start_ = Clock::now();
  uint64_t count_ = 0;
  std::map<std::string, DeviceMemory, std::less<>> devices_;
};

}  // namespace ferry::runtime::layers

#endif  // FERRY_RUNTIME_LAYERS_MEMORY_MAP_H
