// SPDX-License-Identifier: Apache-2.0
//
// A device to copy and change. Its "memory" is the host's, to keep it short;
// put your driver's calls where malloc, free and memcpy stand.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ferry/sdk/plugin.h"
#include "ferry/sdk/scalar_math.h"

namespace {

namespace hal = ferry::hal;

constexpr uint64_t kMemory = uint64_t{64} << 20;  // bytes that the device has

char* address(ferry_location at) { return reinterpret_cast<char*>(at.memory.handle + at.offset); }

class Allocator final : public hal::Allocator {
 public:
  hal::Status allocate(hal::Space space, uint64_t bytes, ferry_memory* memory) override {
    if (space != hal::Space::kDevice)
      return hal::fail(FERRY_E_MISSING, "alloc", "no pinned memory");
    // Ferry caches blocks and recovers from this failure: never abort.
    if (bytes > kMemory - used_) return hal::fail(FERRY_E_OOM, "alloc", "the device is full");
    auto* block = static_cast<uint64_t*>(std::malloc(bytes + 64));
    if (block == nullptr) return hal::fail(FERRY_E_OOM, "alloc", "the host is full");
    *block = bytes;
    used_ += bytes;
    memory->handle = reinterpret_cast<uint64_t>(block) + 64;
    return {};
  }
  hal::Status release(ferry_memory memory) override {
    auto* block = reinterpret_cast<uint64_t*>(memory.handle - 64);
    used_ -= *block;
    std::free(block);
    return {};
  }
  uint64_t used() const { return used_; }

 private:
  std::atomic<uint64_t> used_{0};
};

// Without create_stream() every call is done when it returns.
class Device final : public hal::Device {
 public:
  hal::Allocator& allocator() override { return allocator_; }
  hal::Status copy_from_host(hal::Stream*, ferry_location dst, const void* src,
                             uint64_t bytes) override {
    std::memcpy(address(dst), src, bytes);
    return {};
  }
  hal::Status copy_to_host(hal::Stream*, void* dst, ferry_location src, uint64_t bytes) override {
    std::memcpy(dst, address(src), bytes);
    return {};
  }
  hal::Status copy(hal::Stream*, ferry_location dst, ferry_location src, uint64_t bytes) override {
    std::memcpy(address(dst), address(src), bytes);
    return {};
  }
  hal::Status synchronize() override { return {}; }
  hal::Status memory_info(uint64_t* free_bytes, uint64_t* total_bytes) override {
    *total_bytes = kMemory;
    *free_bytes = kMemory - allocator_.used();
    return {};
  }

 private:
  Allocator allocator_;
};

float apply(uint16_t op, float a, [[maybe_unused]] float b, [[maybe_unused]] float c) {
  using namespace ferry::sdk::math;
  using T = float;
  switch (op) {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  case code:                                                                 \
    return static_cast<T>(formula);
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
    default:
      return a;
  }
}

// Element-wise operations on contiguous float32 tensors; the CPU does the rest.
class Map final : public hal::Kernel {
 public:
  Map() : Kernel({FERRY_FAMILY_MAP, FERRY_DTYPE_BIT(FERRY_F32)}) {}
  hal::Status check(const ferry_call& call) const override {
    const bool small = call.map->n_in + call.map->n_const + call.map->n_insn <= kRegisters;
    bool known = call.map->compute == FERRY_F32;
    for (uint32_t i = 0; i < call.map->n_insn; ++i) {
      known = known && call.map->insns[i].op <= 43 && call.map->insns[i].op != FERRY_OP_INDEX;
    }
    return small && known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    const ferry_program& p = *call.map;
    int64_t n = 1;
    for (uint32_t d = 0; d < call.out[0].ndim; ++d) n *= call.out[0].shape[d];
    float r[kRegisters];
    for (uint32_t k = 0; k < p.n_const; ++k) r[p.n_in + k] = static_cast<float>(p.constants[k].f);
    for (int64_t i = 0; i < n; ++i) {
      for (uint32_t k = 0; k < p.n_in; ++k) {
        r[k] = reinterpret_cast<const float*>(address(call.in[k].at))[i];
      }
      uint32_t next = p.n_in + p.n_const;
      for (uint32_t s = 0; s < p.n_insn; ++s) {
        const uint16_t* arg = p.insns[s].arg;
        r[next++] = apply(p.insns[s].op, r[arg[0]], r[arg[1]], r[arg[2]]);
      }
      for (uint32_t k = 0; k < call.n_out; ++k) {
        reinterpret_cast<float*>(address(call.out[k].at))[i] = r[p.out[k]];
      }
    }
    return {};
  }

 private:
  static constexpr uint32_t kRegisters = 64;
};

class Backend final : public hal::Backend {
 public:
  uint32_t count() override { return 1; }
  hal::Status info(uint32_t, ferry_device_info* info) override {
    info->kind = FERRY_KIND_ACCELERATOR;
    info->memory_total = kMemory;
    info->alignment = 64;
    std::snprintf(info->name, sizeof info->name, "Template device");
    return {};
  }
  hal::Status open(uint32_t, std::unique_ptr<hal::Device>* device) override {
    *device = std::make_unique<Device>();
    return {};
  }
  std::span<const hal::Kernel* const> kernels() override {
    static const Map map;
    static const hal::Kernel* const list[] = {&map};
    return list;
  }
};

}  // namespace

FERRY_EXPORT_PLUGIN(Backend, .name = "template", .version = "0.1.0", .vendor = "You")
