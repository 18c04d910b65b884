// SPDX-License-Identifier: Apache-2.0
//
// Modules used by several threads at a time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "nets.h"

namespace ferry::tests {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 20;

template <class Function>
void in_threads(Function function) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back([&, i] { function(i); });
  for (std::thread& thread : threads) thread.join();
}

void expect_concurrent_forward(const char* device) {
  nn::Sequential made = convnet();
  made.eval().to(device);
  const nn::Sequential& net = made;
  std::vector<Tensor> inputs, expected;
  for (int i = 0; i < kThreads; ++i) {
    inputs.push_back((arange(0, 256).to(kF32) * (0.01 * (i + 1))).view({2, 2, 8, 8}).to(device));
    expected.push_back(net(inputs.back()).cpu());
  }
  std::atomic<int> wrong{0};
  in_threads([&](int i) {
    const auto k = static_cast<size_t>(i);
    for (int round = 0; round < kRounds; ++round) {
      const Tensor y = net(inputs[k]).cpu();
      if (!allclose(y, expected[k], 1e-6, 1e-7) || net.state_dict().size() != 12) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(NnThreads, OneModuleRunsInSeveralOnTheCpu) { expect_concurrent_forward("cpu"); }
TEST(NnThreads, OneModuleRunsInSeveralOnAnAccelerator) { expect_concurrent_forward("sim:0"); }

TEST(NnThreads, EachMovesAModuleOfItsOwn) {
  std::atomic<int> wrong{0};
  in_threads([&](int i) {
    for (int round = 0; round < kRounds; ++round) {
      Net net;
      const auto before = values_of(net);
      net.to(i % 2 == 0 ? "sim:0" : "sim:1").to(kF64).to("cpu", kF32);
      Net other = nn::clone(net);
      other.load_state_dict(net.state_dict());
      if (values_of(other) != before) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ferry::tests
