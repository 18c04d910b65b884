// SPDX-License-Identifier: Apache-2.0
//
// What concerns a whole process: first use from many threads, what stays
// unopened, silence, the thread's device, and the number of threads.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "ferry/error.h"
#include "ferry/log.h"
#include "ferry/memory.h"
#include "ferry/ops.h"
#include "ferry/stream.h"

namespace ferry {
namespace {

TEST(Process, FallbackIsSaidOnce) {
  std::atomic<int> lines{0};
  set_log_callback(
      [&](LogLevel, std::string_view, std::string_view text) {
        if (text.find("matmul") != std::string_view::npos) ++lines;
      },
      LogLevel::kWarn);
  const Tensor a = ones({2, 2}, "sim:0");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(matmul(a, a).to_vector<float>()[3], 2);
  EXPECT_EQ(fallback_stats("sim:0").calls, 3u);
  EXPECT_EQ(lines, 1);
  set_log_callback({});
}

TEST(Process, UnusedDevicesStayUnopened) {
  EXPECT_EQ(memory_allocated("sim:0"), 0u);
  empty_cache();
  empty_cache("sim:0");
  {
    const Tensor x = ones({1000}, "sim:1");
    EXPECT_EQ(sum(x).item<float>(), 1000);
    EXPECT_EQ(x.cpu().to_vector<float>()[999], 1);
    EXPECT_GT(memory_reserved("sim:1"), 0u);
  }
  empty_cache();
  EXPECT_EQ(memory_reserved("sim:0"), 0u);
  EXPECT_EQ(memory_stats("sim:0").allocations, 0u);
  EXPECT_EQ(memory_stats("sim:0").driver_allocations, 0u);
}

TEST(Process, FirstUseFromManyThreads) {
  constexpr int kThreads = 16;
  std::latch start(kThreads);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      const char* names[] = {"sim:0", "sim:1", "cpu"};
      if (i % 4 == 0 && device_count("sim") != 2) ++wrong;
      const Tensor x = full({100}, i, TensorOptions(kI64, names[i % 3]));
      if (sum(x + 1).item<int64_t>() != 100 * (i + 1)) ++wrong;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Process, CurrentDeviceBelongsToTheThread) {
  set_device("sim:1");
  EXPECT_EQ(ones({1}).device().str(), "sim:1");
  std::thread([] {
    EXPECT_EQ(ones({1}).device(), default_device());
    const DeviceGuard guard("sim:0");
    EXPECT_EQ(ones({1}).device().str(), "sim:0");
  }).join();
  const Tensor x = ones({3}, "sim:0");
  // A result is where its operands are, whatever the current device.
  EXPECT_EQ((x + 1).device().str(), "sim:0");
  EXPECT_EQ(zeros_like(x).device().str(), "sim:0");
  EXPECT_EQ(current_device().str(), "sim:1");
}

TEST(Process, FaultsAreThrownOnceAndNoDestructorThrows) {
  {
    const Tensor x = ones({4}, "sim:0");
    const Tensor y = x + 1;  // fails on the device
    EXPECT_THROW(synchronize("sim:0"), DeviceError);
    empty_cache("sim:0");
    synchronize("sim:0");
  }
  EXPECT_EQ(sum(ones({4}, "sim:0")).item<float>(), 4);
  EXPECT_EQ(memory_allocated("sim:0"), 0u);
}

TEST(Process, NothingIsPrinted) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer says when it has no memory";
#endif
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  for (const DeviceProperties& p : devices()) {
    const Tensor x = ones({8, 8}, p.device);
    EXPECT_EQ(softmax(matmul(x, x), 1).to_vector<float>()[0], 0.125f);
    EXPECT_THROW((void)(x + ones({3}, p.device)), InvalidArgument);
    EXPECT_THROW((void)empty({int64_t{1} << 50}, p.device), OutOfMemoryError);
  }
  (void)load_report();
  EXPECT_THROW((void)Device("nobody:0"), Error);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

/// FNV-1a over the bits of results that sum in some order.
uint64_t hash_of_sums() {
  std::vector<float> values(99999);
  uint32_t state = 1;
  for (float& v : values) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  const Tensor t = tensor(values, {99999});
  const Tensor m = t.narrow(0, 0, 90000).view({300, 300});
  uint64_t hash = 14695981039346656037u;
  for (const Tensor& x :
       {sum(t), mean(t), sum(m, {0}), sum(m, {1}), softmax(t, 0), matmul(m, m), exp(t)}) {
    for (const float v : x.to_vector<float>()) {
      hash = (hash ^ std::bit_cast<uint32_t>(v)) * 1099511628211u;
    }
  }
  return hash;
}

TEST(Process, BitsDoNotDependOnTheNumberOfThreads) {
  std::vector<uint64_t> hashes;
  for (const char* count : {"1", "2", "3", "7"}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      setenv("FERRY_NUM_THREADS", count, 1);
      const uint64_t hash = hash_of_sums();
      _exit(write(ends[1], &hash, sizeof hash) == sizeof hash ? 0 : 1);
    }
    close(ends[1]);
    uint64_t hash = 0;
    EXPECT_EQ(read(ends[0], &hash, sizeof hash), static_cast<ssize_t>(sizeof hash)) << count;
    close(ends[0]);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << count;
    hashes.push_back(hash);
  }
  for (const uint64_t hash : hashes) EXPECT_EQ(hash, hashes[0]);
}

}  // namespace
}  // namespace ferry
