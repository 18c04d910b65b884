// SPDX-License-Identifier: Apache-2.0
//
// What environment variables and faults do, one case a process; the variables
// are set in CMakeLists.txt.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "ferry/error.h"
#include "ferry/memory.h"
#include "ferry/ops.h"
#include "ferry/stream.h"

namespace ferry {
namespace {

template <class E, class F>
std::string text_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Settings, FallbackIsCounted) {
  const Tensor a = ones({4, 5}, "sim:0");
  EXPECT_EQ(fallback_stats("sim:0").calls, 0u);
  const Tensor b = matmul(a, a.t());
  EXPECT_EQ(b.device().str(), "sim:0");
  EXPECT_EQ(b.to_vector<float>(), std::vector<float>(16, 5));
  const FallbackStats stats = fallback_stats("sim:0");
  EXPECT_EQ(stats.calls, 1u);
  EXPECT_EQ(stats.bytes, (20 + 20 + 16) * 4u);
}

TEST(Settings, FallbackIsRefused) {
  const Tensor a = ones({4, 5}, "sim:0");
  const std::string text = text_of<UnsupportedError>([&] { (void)matmul(a, a.t()); });
  EXPECT_TRUE(has(text, "[matmul]") && has(text, "sim:0") && has(text, "FERRY_FALLBACK")) << text;
  EXPECT_EQ((a + 1).to_vector<float>()[0], 2);
}

TEST(Settings, WrongFallbackIsNamed) {
  const Tensor a = ones({2, 2}, "sim:0");
  EXPECT_TRUE(has(text_of<InvalidArgument>([&] { (void)matmul(a, a); }), "perhaps"));
}

TEST(Settings, MemoryLimitHolds) {
  const Tensor fits = empty({1 << 20}, "sim:0");
  EXPECT_TRUE(
      has(text_of<OutOfMemoryError>([] { (void)empty({4 << 20}, "sim:0"); }), "at most 8.0 MiB"));
  const Tensor elsewhere = empty({4 << 20}, "sim:1");
}

TEST(Settings, WrongMemoryLimitIsNamed) {
  EXPECT_TRUE(has(text_of<InvalidArgument>([] { (void)empty({1}, "sim:0"); }), "sim:0=lots"));
}

TEST(Settings, LyingPeersAreFoundOut) {
  const Tensor x = full({1000}, 7, TensorOptions(kI64, "sim:0"));
  EXPECT_EQ(x.to("sim:1").to_vector<int64_t>(), std::vector<int64_t>(1000, 7));
  EXPECT_EQ(x.to("sim:1").to("sim:0").to_vector<int64_t>(), std::vector<int64_t>(1000, 7));
}

TEST(Settings, PeersCanBeSwitchedOff) {
  const Tensor x = full({1000}, 7, TensorOptions(kI64, "sim:0"));
  EXPECT_EQ(x.to("sim:1").to_vector<int64_t>(), std::vector<int64_t>(1000, 7));
}

TEST(Settings, LostDeviceFailsAtOnce) {
  const Tensor x = ones({4}, "sim:0");
  std::string first;
  for (int i = 0; i < 5 && first.empty(); ++i) {
    try {
      (void)(x + 1);
    } catch (const DeviceLostError& e) {
      first = e.what();
    }
  }
  EXPECT_TRUE(has(first, "sim:0 is lost")) << first;
  EXPECT_TRUE(has(text_of<DeviceLostError>([&] { (void)empty({1}, "sim:0"); }), "sim:0"));
  EXPECT_TRUE(has(text_of<DeviceLostError>([&] { (void)x.cpu(); }), "sim:0"));
  EXPECT_EQ(sum(ones({4}, "cpu")).item<float>(), 4);
}

TEST(Settings, HangingKernelIsNamed) {
  const Tensor x = ones({4}, "sim:0");  // the first kernel
  const Tensor y = exp(x);              // the second one hangs
  const std::string text = text_of<DeviceLostError>([&] { (void)y.cpu(); });
  EXPECT_TRUE(has(text, "'exp'") && has(text, "300 ms")) << text;
  EXPECT_THROW((void)(x + 1), DeviceLostError);
  EXPECT_EQ(sum(ones({3}, "sim:1")).item<float>(), 3);
  _exit(HasFailure() ? 1 : 0);  // the hanging thread never ends
}

TEST(Settings, KernelErrorIsThrownOnce) {
  const Tensor x = ones({4}, "sim:0");
  const Tensor y = x + 1;
  EXPECT_TRUE(has(text_of<DeviceError>([&] { (void)y.cpu(); }), "sim:0"));
  EXPECT_EQ((x + 1).to_vector<float>(), std::vector<float>(4, 2));
}

TEST(Settings, OutOfMemoryByChanceIsSurvived) {
  uint64_t state = 1;
  int failures = 0;
  std::vector<Tensor> held(12);
  std::vector<int64_t> values(12, 0);
  for (int step = 0; step < 1000; ++step) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t at = (state >> 33) % held.size();
    const int64_t size = 1 + static_cast<int64_t>((state >> 40) % 400000);
    try {
      held[at] = Tensor();
      held[at] = full({size}, step, TensorOptions(kI64, "sim:0"));
      values[at] = step;
    } catch (const OutOfMemoryError&) {
      ++failures;
    }
    const size_t look = (state >> 50) % held.size();
    if (held[look].defined()) {
      ASSERT_EQ(held[look].select(0, held[look].numel() - 1).item<int64_t>(), values[look]);
    }
  }
  EXPECT_GT(failures, 0);
  held.clear();
  EXPECT_EQ(memory_allocated("sim:0"), 0u);
}

/// Runs f in a forked child, whose exit status must be 0.
template <class F>
void in_child(F&& f) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    _exit(f() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Settings, ForkedChildIsTold) {
  const Tensor x = ones({4}, "sim:0");
  in_child([&] {
    for (const char* device : {"sim:0", "cpu"}) {
      try {
        (void)ones({4}, device).cpu();
        if (std::string(device) == "sim:0") return false;
      } catch (const UnavailableError& e) {
        if (!has(e.what(), "forked")) return false;
      }
    }
    try {
      (void)(x + 1);
      return false;
    } catch (const UnavailableError&) {
      return true;
    }
  });
  EXPECT_EQ(sum(x).item<float>(), 4);
}

TEST(Settings, ForkBeforeUseWorks) {
  EXPECT_GE(device_count("sim"), 1);
  in_child([] { return sum(ones({4}, "sim:0")).item<float>() == 4; });
  EXPECT_EQ(sum(ones({4}, "sim:0")).item<float>(), 4);
}

TEST(Settings, OpaqueHandlesWork) {
  const Tensor x = arange(0, 10, 1, "sim:0");
  EXPECT_EQ(sum(x.slice(0, 2, 8).to("sim:1")).item<int64_t>(), 27);
}

TEST(Settings, ExitWithWorkInFlight) {
  static Tensor kept = ones({1000}, "sim:0");
  for (int i = 0; i < 5; ++i) kept = kept + 1;
  // Nothing waits: the process ends with the work in its stream.
}

TEST(Settings, LateCopiesAreWaitedFor) {
  const Tensor x = full({1000}, 3, TensorOptions(kI32, "sim:0"));
  const Tensor y = x.to("cpu", {.non_blocking = true});
  EXPECT_FALSE(Stream::default_of("sim:0").query());  // it returned before the work was done
  EXPECT_EQ(sum(y).item<int64_t>(), 3000);
}

}  // namespace
}  // namespace ferry
