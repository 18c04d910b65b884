// SPDX-License-Identifier: Apache-2.0
//
// Modules on accelerators that lack memory or kernels: an error leaves them as
// they were, and loading needs little room. FERRY_SIM_MEMORY is 1M here, and
// for the suite NoKernels FERRY_SIM_KERNELS is none.
#include <gtest/gtest.h>

#include "ferry/error.h"
#include "ferry/memory.h"
#include "nets.h"

namespace ferry::tests {
namespace {

constexpr uint64_t kLayerBytes = 256 << 10;

/// A small layer, then `count` of 256 KiB.
nn::Sequential large(int count) {
  nn::Sequential net(nn::Linear(8, 8));
  for (int i = 0; i < count; ++i) net.push_back(nn::Linear(256, 256, {.bias = false}));
  return net;
}

void expect_everywhere(const nn::Module& module, const Device& device, DType dtype) {
  for (const auto& [name, tensor] : module.state_dict()) {
    EXPECT_EQ(tensor.device(), device) << name;
    EXPECT_EQ(tensor.dtype(), dtype) << name;
  }
}

TEST(Limits, AMoveThatFindsNoRoomChangesNothing) {
  nn::Sequential net = large(6);
  const auto before = values_of(net);
  const Device sim("sim:0");
  const std::string text = text_of<OutOfMemoryError>([&] { net.to(sim); });
  EXPECT_NE(text.find("(moving '"), std::string::npos) << text;
  EXPECT_NE(text.find("[256, 256]; the module is unchanged)"), std::string::npos) << text;
  expect_everywhere(net, Device(), kF32);
  EXPECT_EQ(values_of(net), before);
  EXPECT_EQ(memory_allocated(sim), 0u);
  nn::Sequential small = large(2);
  small.to(sim);
  expect_everywhere(small, sim, kF32);
}

TEST(Limits, AConversionThatFindsNoRoomChangesNothing) {
  nn::Sequential net = large(2);
  const Device sim("sim:0");
  net.to(sim);
  const auto before = values_of(net);
  const Tensor handle = net[0].as<nn::Linear>().weight;
  EXPECT_THROW(net.to(kF64), OutOfMemoryError);
  expect_everywhere(net, sim, kF32);
  EXPECT_EQ(values_of(net), before);
  net.to(kF16);
  EXPECT_EQ(handle.dtype(), kF16);
}

TEST(Limits, ACloneThatFindsNoRoomChangesNothing) {
  nn::Sequential net = large(3);
  net.to("sim:0");
  const auto before = values_of(net);
  EXPECT_THROW((void)nn::clone(net), OutOfMemoryError);
  EXPECT_EQ(values_of(net), before);
}

TEST(Limits, LoadingFromTheHostTakesNoMemoryOfTheDevice) {
  nn::Sequential net = large(3);
  const Device sim("sim:0");
  for (const DType given : {kF32, kF64, kF16}) {
    nn::Sequential source = large(3);
    source.to(given);
    net.to(sim);
    const uint64_t allocated = memory_allocated(sim);
    EXPECT_GE(allocated, 3 * kLayerBytes);
    reset_peak_memory_stats(sim);
    net.load_state_dict(source.state_dict());
    EXPECT_EQ(max_memory_allocated(sim), allocated);
    source.to(kF32);
    EXPECT_EQ(values_of(net), values_of(source));
  }
}

TEST(Limits, ALoadThatFindsNoRoomChangesNothing) {
  nn::Sequential net = large(1);
  const Device sim("sim:0");
  empty_cache(sim);  // what other tests left would be cut to pieces
  net.to(sim);
  nn::Sequential other = large(1);
  other.to(kF64);
  other.to(sim);
  // 256 KiB and 512 KiB are taken, and this much more; scratch does not fit.
  const Tensor filler = empty({200 << 10}, {kU8, sim});
  const auto before = values_of(net);
  EXPECT_THROW(net.load_state_dict(other.state_dict()), OutOfMemoryError);
  EXPECT_EQ(values_of(net), before);
}

TEST(NoKernels, ALoadThatTheDeviceCannotConvertChangesNothing) {
  nn::Sequential net(nn::Linear(2, 2), nn::Linear(2, 2));
  net.to("sim:0");
  StateDict state;
  for (const auto& [name, tensor] : net.state_dict()) {
    // The first tensors need no conversion.
    const Tensor values = ones(tensor.shape()).to(name.starts_with("0.") ? kF32 : kF64);
    state.set(name, values.to("sim:0"));
  }
  const auto before = values_of(net);
  EXPECT_THROW(net.load_state_dict(state), UnsupportedError);
  EXPECT_EQ(values_of(net), before);
}

TEST(NoKernels, ModulesMoveAndLoadFromTheHost) {
  Net net;
  net.to("sim:0");
  net.load_state_dict(Net().to(kF64).state_dict());
  net.to("sim:1").to("cpu");
  EXPECT_EQ(net(ones({1, 10})).shape(), (Shape{1, 1}));
}

}  // namespace
}  // namespace ferry::tests
