// SPDX-License-Identifier: Apache-2.0
//
// A plugin through the C++ SDK, for compilers and settings other than the
// host's: without exceptions and run-time type information, and with another
// standard library.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "ferry/sdk/plugin.h"
#include "ferry/sdk/scalar_math.h"

namespace {

using ferry::hal::Status;

char* address(ferry_location at) { return reinterpret_cast<char*>(at.memory.handle + at.offset); }

class Device final : public ferry::hal::Device, public ferry::hal::Allocator {
 public:
  ferry::hal::Allocator& allocator() override { return *this; }
  Status allocate(ferry::hal::Space, uint64_t bytes, ferry_memory* memory) override {
    void* const block = std::malloc(bytes);
    if (block == nullptr) return ferry::hal::fail(FERRY_E_OOM, "alloc", "malloc found no room");
    memory->handle = reinterpret_cast<uint64_t>(block);
    return {};
  }
  Status release(ferry_memory memory) override {
    std::free(reinterpret_cast<void*>(memory.handle));
    return {};
  }
  Status copy_from_host(ferry::hal::Stream*, ferry_location dst, const void* src,
                        uint64_t bytes) override {
    std::memcpy(address(dst), src, bytes);
    return {};
  }
  Status copy_to_host(ferry::hal::Stream*, void* dst, ferry_location src, uint64_t bytes) override {
    std::memcpy(dst, address(src), bytes);
    return {};
  }
  Status copy(ferry::hal::Stream*, ferry_location dst, ferry_location src,
              uint64_t bytes) override {
    std::memcpy(address(dst), address(src), bytes);
    return {};
  }
  Status fill(ferry::hal::Stream*, ferry_location dst, uint8_t value, uint64_t bytes) override {
    std::memset(address(dst), value, bytes);
    return {};
  }
  Status synchronize() override { return {}; }
};

/// relu and products of two, in f32, by the formulas of the list of scalar ops.
class Map final : public ferry::hal::Kernel {
 public:
  Map() : Kernel({FERRY_FAMILY_MAP, FERRY_DTYPE_BIT(FERRY_F32)}) {}
  Status check(const ferry_call& call) const override {
    const ferry_program* map = call.map;
    if (map == nullptr || map->n_insn != 1 || map->n_in + map->n_const > 2 || map->n_out != 1 ||
        map->compute != FERRY_F32) {
      return Status(FERRY_DECLINED);
    }
    return Status(map->insns[0].op == FERRY_OP_RELU || map->insns[0].op == FERRY_OP_MUL
                      ? FERRY_OK
                      : FERRY_DECLINED);
  }
  Status launch(const ferry_call& call) const override {
    const ferry_program& map = *call.map;
    const ferry_tensor& out = call.out[0];
    int64_t n = 1;
    for (uint32_t d = 0; d < out.ndim; ++d) n *= out.shape[d];
    for (int64_t i = 0; i < n; ++i) {
      float r[3] = {};
      for (uint32_t k = 0; k < map.n_in; ++k) {
        r[k] = reinterpret_cast<const float*>(address(call.in[k].at))[i];
      }
      for (uint32_t k = 0; k < map.n_const; ++k) {
        r[map.n_in + k] = static_cast<float>(map.constants[k].f);
      }
      const float a = r[map.insns[0].arg[0]], b = r[map.insns[0].arg[1]];
      r[map.n_in + map.n_const] =
          map.insns[0].op == FERRY_OP_MUL ? ferry::sdk::math::fm_mul(a, b) : (a < 0 ? 0 : a);
      reinterpret_cast<float*>(address(out.at))[i] = r[map.out[0]];
    }
    return {};
  }
};

class Backend final : public ferry::hal::Backend {
 public:
  uint32_t count() override { return 2; }
  Status info(uint32_t index, ferry_device_info* info) override {
    // Something of the standard library, so that the other one is at work.
    std::map<uint32_t, std::string> names;
    for (uint32_t i = 0; i < count(); ++i) names[i] = "Acme " + std::to_string(i);
    info->kind = FERRY_KIND_ACCELERATOR;
    std::strncpy(info->name, names[index].c_str(), sizeof info->name - 1);
    return {};
  }
  Status open(uint32_t, std::unique_ptr<ferry::hal::Device>* device) override {
    *device = std::make_unique<Device>();
    return {};
  }
  std::span<const ferry::hal::Kernel* const> kernels() override {
    static const Map map;
    static const ferry::hal::Kernel* const list[] = {&map};
    return list;
  }
};

}  // namespace

FERRY_EXPORT_PLUGIN(Backend, .name = "acme", .version = "1.0", .vendor = "Acme")
