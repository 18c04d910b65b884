// SPDX-License-Identifier: Apache-2.0
//
// Many threads, devices and streams at the edge of memory, with faults: every
// result is right or announced as wrong, and nothing leaks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "ferry/error.h"
#include "ferry/memory.h"
#include "ferry/ops.h"
#include "player.h"

namespace ferry::stress {
namespace {

int64_t number(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

void expect_nothing_left(const Playground& ground) {
  for (const Device& device : ground.devices) {
    EXPECT_EQ(memory_allocated(device), 0u) << device;
    EXPECT_EQ(pinned_memory_stats(device).allocated, 0u) << device;
    empty_cache(device);
    EXPECT_EQ(memory_reserved(device), 0u) << device;
    EXPECT_EQ(pinned_memory_stats(device).reserved, 0u) << device;
    EXPECT_TRUE(memory_snapshot(device).empty()) << device;
    const MemoryStats stats = memory_stats(device);
    EXPECT_EQ(stats.driver_allocations, stats.driver_frees) << device;
  }
}

void play(Playground& ground, int64_t threads, int64_t operations, uint64_t seed) {
  std::vector<std::thread> running;
  for (int64_t t = 0; t < threads; ++t) {
    running.emplace_back([&ground, t, threads, operations, seed] {
      Player player(ground, seed * 1000 + static_cast<uint64_t>(t));
      player.play(operations / threads);
      player.check_all();
    });
  }
  for (std::thread& thread : running) thread.join();
  ground.passed_on.clear();
  ground.collect_faults();
}

void report(const Playground& ground, const char* what) {
  std::string text = std::to_string(ground.operations) + " operations, " +
                     std::to_string(ground.checks) + " checks, " +
                     std::to_string(ground.out_of_memory) + " times out of memory, " +
                     std::to_string(ground.reported) + " faults reported, " +
                     std::to_string(ground.spoilt) + " tensors spoilt by them";
  ::testing::Test::RecordProperty(what, text);
  std::printf("%s: %s\n", what, text.c_str());
}

/// FERRY_STRESS_OPS operations in all; FERRY_STRESS_SEED for another play.
TEST(Stress, ThreadsDevicesAndStreams) {
  Playground ground;
  for (const DeviceProperties& p : devices()) {
    ground.devices.push_back(p.device);
    if (p.device.is_cpu()) continue;
    for (int i = 0; i < 3; ++i) ground.streams.emplace_back(p.device);
  }
  ASSERT_EQ(ground.streams.size(), 12u) << "needs FERRY_SIM_DEVICES=4";
  const char* faults = std::getenv("FERRY_SIM_FAULTS");
  ground.faults = faults != nullptr && *faults != '\0';
  const auto seed = static_cast<uint64_t>(number("FERRY_STRESS_SEED", 1));
  play(ground, number("FERRY_STRESS_THREADS", 8), number("FERRY_STRESS_OPS", 1000000), seed);
  EXPECT_EQ(ground.wrong, "");
  report(ground, "stress");
  EXPECT_GT(ground.checks, ground.operations / 20);
  if (ground.faults) {
    EXPECT_GT(ground.reported, 0);
    EXPECT_GT(ground.out_of_memory, 0);
    // Most play is undisturbed, or the test would show nothing.
    EXPECT_LT(ground.spoilt, ground.checks / 4);
  }
  ground.streams.clear();
  expect_nothing_left(ground);
}

/// A thousand steps in a few MiB, a limit below that, and a driver that often
/// refuses: each failure is caught, and the next step works as if nothing was.
TEST(Stress, AtTheEdgeOfMemory) {
  constexpr uint64_t kLimit = uint64_t{6} << 20;
  const Device device("sim:0");
  set_memory_limit(device, kLimit);
  Random random(static_cast<uint64_t>(number("FERRY_STRESS_SEED", 1)));
  std::vector<Tensor> held(10);
  std::vector<int64_t> expected(held.size(), 0);
  int failures = 0, successes = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(held.size())));
    const int64_t n = 1 + random.below(random.chance(3) ? 1 << 20 : 1 << 14);
    const int64_t value = random.below(100);
    held[at] = Tensor();
    try {
      const Tensor fresh = full({n}, value, TensorOptions(kI32, device));
      const bool whole = random.chance(2);
      held[at] = whole ? fresh + 1 : fresh.narrow(0, 0, n / 2 + 1);
      expected[at] = whole ? n * (value + 1) : (n / 2 + 1) * value;
      ++successes;
    } catch (const OutOfMemoryError& e) {
      ++failures;
      held[at] = Tensor();
      EXPECT_LE(e.reserved, kLimit);
      EXPECT_GE(e.requested, 4u);
    }
    EXPECT_LE(memory_reserved(device), kLimit);
    EXPECT_LE(memory_allocated(device), memory_reserved(device));
    const size_t other = static_cast<size_t>(random.below(static_cast<int64_t>(held.size())));
    if (!held[other].defined()) continue;
    try {
      ASSERT_EQ(sum(held[other]).item<int64_t>(), expected[other]) << "step " << i;
    } catch (const OutOfMemoryError&) {
      ++failures;  // the sum needs a place, too
    }
  }
  EXPECT_GT(failures, 50);
  EXPECT_GT(successes, 300);
  held.clear();
  set_memory_limit(device, 0);
  Playground ground;
  ground.devices = {device, Device()};
  expect_nothing_left(ground);
}

}  // namespace
}  // namespace ferry::stress
