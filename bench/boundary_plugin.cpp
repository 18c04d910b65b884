// SPDX-License-Identifier: Apache-2.0
//
// A plugin whose one kernel does nothing: what is left is the boundary.
#include "ferry/sdk/plugin.h"
#include "nothing_kernel.h"

namespace {

class NothingBackend final : public ferry::hal::Backend {
 public:
  uint32_t count() override { return 0; }
  ferry::hal::Status info(uint32_t, ferry_device_info*) override {
    return ferry::hal::Status(FERRY_E_ARG);
  }
  ferry::hal::Status open(uint32_t, std::unique_ptr<ferry::hal::Device>*) override {
    return ferry::hal::Status(FERRY_E_ARG);
  }
  std::span<const ferry::hal::Kernel* const> kernels() override { return kernels_; }

 private:
  ferry::bench::NothingKernel kernel_;
  const ferry::hal::Kernel* kernels_[1] = {&kernel_};
};

}  // namespace

FERRY_EXPORT_PLUGIN(NothingBackend, .name = "nothing", .version = "1.0", .vendor = "Ferry")
