// SPDX-License-Identifier: Apache-2.0
//
// The CPU as a plugin: one synchronous device over main memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "conv.h"
#include "ferry/sdk/plugin.h"
#include "gather.h"
#include "isa.h"
#include "map.h"
#include "matmul.h"
#include "parallel.h"
#include "pool.h"
#include "processor.h"
#include "reduce.h"
#include "rows.h"
#include "scan.h"
#include "scatter.h"
#include "sort.h"

namespace ferry::cpu {
namespace {

using hal::Status;

/// A line of the caches, and the widest vector.
constexpr uint64_t kAlignment = 64;
/// A piece of a copy that one thread does.
constexpr int64_t kCopyGrain = int64_t{1} << 20;

char* address_of(ferry_location at) {
  return reinterpret_cast<char*>(at.memory.handle + at.offset);
}

void copy_bytes(char* dst, const char* src, uint64_t bytes) {
  parallel_for(static_cast<int64_t>(bytes), kCopyGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(dst + begin, src + begin, static_cast<size_t>(end - begin));
  });
}

class HeapAllocator final : public hal::Allocator {
 public:
  Status allocate(hal::Space, uint64_t bytes, ferry_memory* memory) override {
    const bool sane = bytes <= (uint64_t{1} << 62);
    void* p = sane ? std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) & ~(kAlignment - 1))
                   : nullptr;
    if (p == nullptr) {
      const std::string text = "the system has no " + std::to_string(bytes) + " bytes left";
      return hal::fail(FERRY_E_OOM, "alloc", text.c_str());
    }
    memory->handle = reinterpret_cast<uint64_t>(p);
    return {};
  }
  Status release(ferry_memory memory) override {
    std::free(reinterpret_cast<void*>(memory.handle));
    return {};
  }
};

class CpuDevice final : public hal::Device {
 public:
  hal::Allocator& allocator() override { return allocator_; }
  Status copy_from_host(hal::Stream*, ferry_location dst, const void* src,
                        uint64_t bytes) override {
    copy_bytes(address_of(dst), static_cast<const char*>(src), bytes);
    return {};
  }
  Status copy_to_host(hal::Stream*, void* dst, ferry_location src, uint64_t bytes) override {
    copy_bytes(static_cast<char*>(dst), address_of(src), bytes);
    return {};
  }
  Status copy(hal::Stream*, ferry_location dst, ferry_location src, uint64_t bytes) override {
    copy_bytes(address_of(dst), address_of(src), bytes);
    return {};
  }
  Status fill(hal::Stream*, ferry_location dst, uint8_t value, uint64_t bytes) override {
    char* const to = address_of(dst);
    parallel_for(static_cast<int64_t>(bytes), kCopyGrain, [&](int64_t begin, int64_t end) {
      std::memset(to + begin, value, static_cast<size_t>(end - begin));
    });
    return {};
  }
  Status synchronize() override { return {}; }
  Status memory_info(uint64_t* free_bytes, uint64_t* total_bytes) override {
    *total_bytes = memory_total();
    *free_bytes = std::min(memory_free(), *total_bytes);
    return {};
  }

 private:
  HeapAllocator allocator_;
};

void set_text(char* to, size_t size, const std::string& text) {
  std::snprintf(to, size, "%s", text.c_str());
}

class CpuBackend final : public hal::Backend {
 public:
  uint32_t count() override { return 1; }
  Status info(uint32_t, ferry_device_info* info) override {
    info->kind = FERRY_KIND_CPU;
    info->caps = FERRY_CAP_HANDLE_IS_ADDRESS | FERRY_CAP_HOST_ACCESSIBLE;
    info->memory_total = memory_total();
    info->alignment = kAlignment;
    info->compute_units = static_cast<uint32_t>(thread_count());
    set_text(info->name, sizeof info->name, processor_name());
    set_text(info->vendor, sizeof info->vendor, processor_vendor());
    set_text(info->arch, sizeof info->arch, loops().name);
    return {};
  }
  Status open(uint32_t, std::unique_ptr<hal::Device>* device) override {
    *device = std::make_unique<CpuDevice>();
    return {};
  }
  std::span<const hal::Kernel* const> kernels() override {
    static const hal::Kernel* const list[] = {
        &map_kernel(),     &reduce_kernel(), &matmul_kernel(),  &conv_kernel(),
        &pool_kernel(),    &gather_kernel(), &softmax_kernel(), &layer_norm_kernel(),
        &scatter_kernel(), &sort_kernel(),   &scan_kernel()};
    return list;
  }
  void quiesce() override { stop_threads(); }
};

}  // namespace
}  // namespace ferry::cpu

FERRY_EXPORT_PLUGIN(ferry::cpu::CpuBackend, .name = "cpu", .version = "0.1.0", .vendor = "Ferry",
                    .dlpack_type = 1)
