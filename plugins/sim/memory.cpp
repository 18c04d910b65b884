// SPDX-License-Identifier: Apache-2.0
//
// First fit over a private mapping, and the checks of every access.
#include "memory.h"

#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "faults.h"

namespace ferry::sim {
namespace {

constexpr uint64_t kAlignment = 256;
/// Between blocks, so that one step too far is in no block.
constexpr uint64_t kMargin = 256;
constexpr int kFreshByte = 0xff;  // NaN in every floating dtype
constexpr int kFreedByte = 0xdb;

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

char* map_pages(uint64_t bytes, int protection) {
  void* p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(p);
}

}  // namespace

Memory::Memory(std::string device_name, uint64_t bytes, bool opaque_handles)
    : name_(std::move(device_name)), total_(bytes), opaque_(opaque_handles) {
  // Margins and rounding are not the device's: they have room of their own.
  const uint64_t room = 2 * bytes + (uint64_t{1} << 20);
  backing_ = map_pages(room, PROT_READ | PROT_WRITE);
  forbidden_ = map_pages(room, PROT_NONE);
  gaps_[0] = room;
}

Memory::~Memory() {
  const uint64_t room = 2 * total_ + (uint64_t{1} << 20);
  munmap(backing_, room);
  munmap(forbidden_, room);
}

uint64_t Memory::handle_of(uint64_t offset) noexcept {
  return opaque_ ? next_number_++ : reinterpret_cast<uint64_t>(forbidden_) + offset;
}

hal::Status Memory::allocate(hal::Space space, uint64_t bytes, ferry_memory* memory) {
  if (space != hal::Space::kDevice) {
    return hal::fail(FERRY_E_MISSING, "alloc", "simulated devices have no pinned host memory");
  }
  const std::lock_guard lock(mutex_);
  if (bytes > total_ || used_ + rounded(bytes) > total_ || is_due(Fault::kOom)) {
    const std::string text = name_ + " has " + std::to_string(total_ - used_) + " of " +
                             std::to_string(total_) + " bytes free, not " + std::to_string(bytes);
    return hal::fail(FERRY_E_OOM, "alloc", text.c_str());
  }
  const uint64_t size = rounded(bytes);
  for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
    if (gap->second < size + kMargin) continue;
    const uint64_t offset = gap->first;
    const uint64_t rest = gap->second - size - kMargin;
    gaps_.erase(gap);
    if (rest > 0) gaps_[offset + size + kMargin] = rest;
    memory->handle = handle_of(offset);
    live_[memory->handle] = {offset, bytes};
    used_ += size;
    std::memset(backing_ + offset, kFreshByte, size);
    return {};
  }
  return hal::fail(FERRY_E_OOM, "alloc", (name_ + " is in too many pieces").c_str());
}

hal::Status Memory::release(ferry_memory memory) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(memory.handle);
  if (found == live_.end()) {
    const std::string text = std::to_string(memory.handle) + " is no live block of " + name_ +
                             ": freed twice, or another device's";
    return hal::fail(FERRY_E_ARG, "release", text.c_str());
  }
  const Range range = found->second;
  const uint64_t size = rounded(range.bytes);
  live_.erase(found);
  used_ -= size;
  std::memset(backing_ + range.offset, kFreedByte, size);
  // Merge with the gaps on both sides.
  auto gap = gaps_.emplace(range.offset, size + kMargin).first;
  const auto next = std::next(gap);
  if (next != gaps_.end() && gap->first + gap->second == next->first) {
    gap->second += next->second;
    gaps_.erase(next);
  }
  if (gap != gaps_.begin()) {
    const auto before = std::prev(gap);
    if (before->first + before->second == gap->first) {
      before->second += gap->second;
      gaps_.erase(gap);
    }
  }
  return {};
}

uint64_t Memory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_ - used_;
}

char* Memory::find(ferry_location at, uint64_t extent, std::string* why) const {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(at.memory.handle);
  if (found == live_.end()) {
    *why = "access to memory " + std::to_string(at.memory.handle) + ", which is no live block of " +
           name_ + ": freed, or another device's";
    return nullptr;
  }
  const Range& range = found->second;
  if (at.offset > range.bytes || extent > range.bytes - at.offset) {
    *why = "access to bytes " + std::to_string(at.offset) + ".." +
           std::to_string(at.offset + extent) + " of a block of " + std::to_string(range.bytes) +
           " bytes of " + name_;
    return nullptr;
  }
  return backing_ + range.offset + at.offset;
}

}  // namespace ferry::sim
