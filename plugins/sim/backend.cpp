// SPDX-License-Identifier: Apache-2.0
//
// The simulated devices as a plugin.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "device.h"
#include "ferry/sdk/plugin.h"
#include "kernels.h"
#include "options.h"

namespace ferry::sim {
namespace {

/// Cuts what is too long, between two characters of UTF-8.
void set_text(char* to, size_t size, const std::string& text) {
  size_t length = std::min(text.size(), size - 1);
  if (length < text.size()) {
    while (length > 0 && (text[length] & 0xc0) == 0x80) --length;
  }
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

class SimBackend final : public hal::Backend {
 public:
  hal::Status start() override { return read_options(); }
  uint32_t count() override { return options().devices; }
  hal::Status info(uint32_t index, ferry_device_info* info) override {
    if (index >= count()) return refuse("info", index);
    info->kind = FERRY_KIND_SIMULATED;
    info->caps = FERRY_CAP_CAPABILITY_VALID;
    if (!options().opaque_handles) info->caps |= FERRY_CAP_HANDLE_IS_ADDRESS;
    info->memory_total = options().memory;
    info->max_alloc = options().memory;
    info->alignment = 256;
    info->capability_major = 1;
    info->compute_units = 1;
    info->warp_size = 1;
    set_text(info->name, sizeof info->name, options().device_name + " " + std::to_string(index));
    set_text(info->vendor, sizeof info->vendor, options().vendor);
    set_text(info->uuid, sizeof info->uuid, "sim-" + std::to_string(index));
    set_text(info->arch, sizeof info->arch, "sim");
    return {};
  }
  hal::Status open(uint32_t index, std::unique_ptr<hal::Device>* device) override {
    if (index >= count()) return refuse("open", index);
    *device = std::make_unique<SimDevice>(index);
    return {};
  }
  bool peer_access(uint32_t, uint32_t) override { return options().peer != PeerMode::kOff; }
  std::span<const hal::Kernel* const> kernels() override {
    static const auto& list = *new std::vector<const hal::Kernel*>([] {
      std::vector<const hal::Kernel*> offered;
      for (const hal::Kernel* kernel :
           {&map_kernel(), &reduce_kernel(), &matmul_kernel(), &conv_kernel(), &pool_kernel(),
            &gather_kernel(), &softmax_kernel(), &layer_norm_kernel(), &scatter_kernel(),
            &sort_kernel(), &scan_kernel()}) {
        const std::string family = kernel->traits().family;
        const std::string word = family.substr(0, family.find('/')) + ",";
        const std::string& wanted = options().families;
        if (wanted.empty() || wanted.find(word) != std::string::npos) offered.push_back(kernel);
      }
      return offered;
    }());
    return list;
  }
  void quiesce() override { quiesce_devices(); }

 private:
  hal::Status refuse(const char* where, uint32_t index) {
    const std::string text =
        "there is no device " + std::to_string(index) + " of " + std::to_string(count());
    return hal::fail(FERRY_E_ARG, where, text.c_str());
  }
};

}  // namespace
}  // namespace ferry::sim

FERRY_EXPORT_PLUGIN(ferry::sim::SimBackend, .name = "sim", .version = "0.1.0", .vendor = "Ferry")
