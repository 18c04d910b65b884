// SPDX-License-Identifier: Apache-2.0
//
// Devices to load onto: two with little memory, apart from the host's, and one
// that has plenty because it keeps nothing. Each says in the log that it was
// opened. They have no kernels.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ferry/sdk/plugin.h"

namespace {

using ferry::hal::fail;
using ferry::hal::Status;
using ferry::hal::Stream;

constexpr uint32_t kBottomless = 2;
constexpr uint64_t kSmallMemory = 64 << 10;
constexpr uint64_t kHugeMemory = uint64_t{1} << 40;

class AcmeDevice final : public ferry::hal::Device, public ferry::hal::Allocator {
 public:
  explicit AcmeDevice(uint32_t index) : keeps_(index != kBottomless) {}

  ferry::hal::Allocator& allocator() override { return *this; }

  Status allocate(ferry::hal::Space space, uint64_t bytes, ferry_memory* memory) override {
    if (space != ferry::hal::Space::kDevice) return Status(FERRY_E_MISSING);
    if (used_.fetch_add(bytes) + bytes > (keeps_ ? kSmallMemory : kHugeMemory)) {
      used_ -= bytes;
      return fail(FERRY_E_OOM, "alloc", "acme is full");
    }
    auto* block = static_cast<uint64_t*>(std::malloc((keeps_ ? bytes : 0) + kHeader));
    *block = bytes;
    memory->handle = reinterpret_cast<uint64_t>(block);
    return {};
  }
  Status release(ferry_memory memory) override {
    auto* block = reinterpret_cast<uint64_t*>(memory.handle);
    used_ -= *block;
    std::free(block);
    return {};
  }

  Status copy_from_host(Stream*, ferry_location dst, const void* src, uint64_t bytes) override {
    if (keeps_)
      std::memcpy(address(dst), src, bytes);
    else
      touch(src, bytes);
    return {};
  }
  Status copy_to_host(Stream*, void* dst, ferry_location src, uint64_t bytes) override {
    if (keeps_)
      std::memcpy(dst, address(src), bytes);
    else
      std::memset(dst, 0, bytes);
    return {};
  }
  Status copy(Stream*, ferry_location dst, ferry_location src, uint64_t bytes) override {
    if (keeps_) std::memcpy(address(dst), address(src), bytes);
    return {};
  }
  Status synchronize() override { return {}; }

 private:
  static constexpr uint64_t kHeader = 64;

  static char* address(ferry_location at) {
    return reinterpret_cast<char*>(at.memory.handle) + kHeader + at.offset;
  }
  // As a real copy would.
  static void touch(const void* data, uint64_t bytes) {
    const volatile char* next = static_cast<const char*>(data);
    for (uint64_t i = 0; i < bytes; i += 512) (void)next[i];
  }

  const bool keeps_;
  std::atomic<uint64_t> used_{0};
};

class AcmeBackend final : public ferry::hal::Backend {
 public:
  uint32_t count() override { return 3; }
  Status info(uint32_t index, ferry_device_info* info) override {
    std::snprintf(info->name, sizeof info->name, "Acme %u", index);
    info->kind = FERRY_KIND_SIMULATED;
    info->memory_total = index == kBottomless ? kHugeMemory : kSmallMemory;
    return {};
  }
  Status open(uint32_t index, std::unique_ptr<ferry::hal::Device>* device) override {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "acme:%u opened", index);
    ferry::sdk::log(FERRY_LOG_INFO, text.data());
    *device = std::make_unique<AcmeDevice>(index);
    return {};
  }
  std::span<const ferry::hal::Kernel* const> kernels() override { return {}; }
};

}  // namespace

FERRY_EXPORT_PLUGIN(AcmeBackend, .name = "acme", .version = "1.0", .vendor = "Acme")
