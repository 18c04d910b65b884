// SPDX-License-Identifier: Apache-2.0
//
// Handles from a forbidden range, bytes from the heap, and the checks of every
// access.
#include "memory.h"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "faults.h"

namespace ferry::sim {
namespace {

constexpr uint64_t kAlignment = 256;
/// Between handles, so that an address one step too far is in no block.
constexpr uint64_t kMargin = 256;
constexpr int kFreshByte = 0xff;  // NaN in every floating dtype
constexpr int kFreedByte = 0xdb;

/// Large blocks begin on a page of the largest kind, for the speed of copies.
constexpr uint64_t kLarge = uint64_t{2} << 20;

void* new_bytes(uint64_t bytes) {
  void* data = nullptr;
  const bool large = bytes >= kLarge;
  if (posix_memalign(&data, large ? kLarge : kAlignment, bytes) != 0) return nullptr;
  if (large) (void)madvise(data, bytes, MADV_HUGEPAGE);  // a wish
  return data;
}

uint64_t rounded(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::string hex(uint64_t handle) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, handle);
  return text;
}

}  // namespace

Memory::Memory(std::string device_name, const Options& options)
    : name_(std::move(device_name)),
      total_(options.memory),
      pinned_total_(options.pinned),
      opaque_(options.opaque_handles),
      used_(options.taken) {
  if (opaque_) return;
  // Several times what can be live, so that a handle is not used again soon.
  // Pages that nobody can touch cost nothing.
  reserved_ = 4 * rounded(total_) + (uint64_t{64} << 20);
  void* range =
      mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) throw std::bad_alloc();
  first_ = reinterpret_cast<uint64_t>(range);
  next_ = first_;
}

Memory::~Memory() {
  if (reserved_ != 0) munmap(reinterpret_cast<void*>(first_), reserved_);
}

uint64_t Memory::new_handle(uint64_t size) {
  if (opaque_) {
    // Over all devices, so that a foreign number is noticed.
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
  const uint64_t need = size + kMargin;
  const uint64_t end = first_ + reserved_;
  for (const uint64_t begin : {next_, first_}) {
    uint64_t at = begin;
    while (at + need <= end) {
      const auto block = live_.lower_bound(at);
      if (block == live_.end() || block->first >= at + need) {
        next_ = at + need;
        return at;
      }
      at = block->first + rounded(block->second.bytes) + kMargin;
    }
  }
  return 0;
}

hal::Status Memory::allocate(hal::Space space, uint64_t bytes, ferry_memory* memory) {
  if (lost_) return hal::fail(FERRY_E_LOST, "alloc", (name_ + " is lost (simulated)").c_str());
  const std::lock_guard lock(mutex_);
  if (space == hal::Space::kPinned) return allocate_pinned(bytes, memory);
  if (space != hal::Space::kDevice) {
    return hal::fail(FERRY_E_MISSING, "alloc", "simulated devices have no memory of this kind");
  }
  const uint64_t size = bytes > total_ ? bytes : rounded(bytes);
  if (size > total_ - used_ || is_due(Fault::kOom)) {
    const std::string text = name_ + " has " + std::to_string(total_ - used_) + " of " +
                             std::to_string(total_) + " bytes free, not " + std::to_string(bytes);
    return hal::fail(FERRY_E_OOM, "alloc", text.c_str());
  }
  const uint64_t handle = new_handle(size);
  void* const data = handle == 0 ? nullptr : new_bytes(bytes);
  if (data == nullptr) {
    const std::string text = "this machine has no " + std::to_string(bytes) + " bytes for " + name_;
    return hal::fail(FERRY_E_OOM, "alloc", text.c_str());
  }
  std::memset(data, kFreshByte, bytes);
  live_[handle] = {bytes, std::unique_ptr<char, Free>(static_cast<char*>(data))};
  used_ += size;
  memory->handle = handle;
  return {};
}

hal::Status Memory::allocate_pinned(uint64_t bytes, ferry_memory* memory) {
  if (pinned_total_ == 0) {
    const std::string text = name_ + " has no pinned host memory: FERRY_SIM_PINNED=0";
    return hal::fail(FERRY_E_MISSING, "alloc", text.c_str());
  }
  void* data = nullptr;
  if (bytes > pinned_total_ - pinned_used_ || is_due(Fault::kOom) ||
      posix_memalign(&data, kAlignment, bytes) != 0) {
    const std::string text = name_ + " has " + std::to_string(pinned_total_ - pinned_used_) +
                             " bytes of pinned host memory free, not " + std::to_string(bytes);
    return hal::fail(FERRY_E_OOM, "alloc", text.c_str());
  }
  std::memset(data, kFreshByte, bytes);
  memory->handle = reinterpret_cast<uint64_t>(data);
  pinned_[memory->handle] = {bytes, std::unique_ptr<char, Free>(static_cast<char*>(data))};
  pinned_used_ += bytes;
  return {};
}

bool Memory::release_pinned(uint64_t handle) {
  const auto found = pinned_.find(handle);
  if (found == pinned_.end()) return false;
  pinned_used_ -= found->second.bytes;
  // A copy that is still to read it brings this instead of what was there.
  std::memset(found->second.data.get(), kFreedByte, found->second.bytes);
  pinned_.erase(found);
  return true;
}

hal::Status Memory::release(ferry_memory memory) {
  const std::lock_guard lock(mutex_);
  if (release_pinned(memory.handle)) return {};
  const auto found = live_.find(memory.handle);
  if (found == live_.end()) {
    const std::string text = "this is " + describe_stranger(memory.handle);
    return hal::fail(FERRY_E_ARG, "release", text.c_str());
  }
  const Block& block = found->second;
  used_ -= rounded(block.bytes);
  std::memset(block.data.get(), kFreedByte, block.bytes);
  live_.erase(found);
  return {};
}

std::string Memory::describe_stranger(uint64_t handle) const {
  const bool possible = opaque_ || (handle >= first_ && handle - first_ < reserved_);
  return "memory " + hex(handle) + ", which is no live block of " + name_ + ": " +
         (!possible ? "another device's, or no handle at all"
          : opaque_ ? "freed, or another device's"
                    : "freed, or not the begin of a block");
}

uint64_t Memory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return total_ - used_;
}

char* Memory::find(ferry_location at, uint64_t extent, std::string* why) const {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(at.memory.handle);
  if (found == live_.end()) {
    *why = "access to byte " + std::to_string(at.offset) + " of " +
           describe_stranger(at.memory.handle);
    return nullptr;
  }
  const Block& block = found->second;
  if (at.offset > block.bytes || extent > block.bytes - at.offset) {
    *why = "access to " + std::to_string(extent) + " bytes from byte " + std::to_string(at.offset) +
           " of block " + hex(at.memory.handle) + " of " + name_ + ", which has " +
           std::to_string(block.bytes) + " bytes";
    return nullptr;
  }
  return block.data.get() + at.offset;
}

}  // namespace ferry::sim
