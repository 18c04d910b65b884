// SPDX-License-Identifier: Apache-2.0
//
// Several threads on one device, on several, and at their end.
#include <atomic>
#include <thread>

#include "common.h"
#include "ferry/memory.h"
#include "ferry/stream.h"

namespace ferry::test {
namespace {

class Threads : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Threads);

template <class F>
void on_threads(int count, F&& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&f, i] { f(i); });
  for (std::thread& t : threads) t.join();
}

TEST_P(Threads, ComputeSideBySide) {
  const Tensor shared = arange(0, 1000, 1, TensorOptions(device())).to(kF32);
  std::atomic<int> wrong{0};
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      const Tensor x = shared * thread + i;
      const double want = 499500.0 * thread + 1000.0 * i;
      if (sum(x).item<double>() != want) ++wrong;
      if (amax(matmul(x.view({10, 100}), x.view({100, 10}))).item<float>() < 0) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ThreadsOnDevices, ComputeOnAllDevicesAtOnce) {
  const std::vector<std::string> all = device_names();
  std::atomic<int> wrong{0};
  on_threads(static_cast<int>(2 * all.size()), [&](int thread) {
    const Device own(all[static_cast<size_t>(thread) % all.size()]);
    for (int i = 0; i < 10; ++i) {
      const Tensor x = full({500}, thread + i, TensorOptions(kI64, own));
      const Tensor y = (x * 2 + 1).view({50, 10});
      if (sum(y).item<int64_t>() != int64_t{500} * (2 * (thread + i) + 1)) ++wrong;
      if (y.device() != own || !equal(y.t().contiguous(), y.t())) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(Threads, EachWithAStreamOfItsOwn) {
  std::atomic<int> wrong{0};
  const Tensor base = ones({3000}, TensorOptions(device()));
  on_threads(3, [&](int thread) {
    const StreamGuard guard{Stream(device())};
    Tensor x = base;
    for (int i = 0; i < 30; ++i) x = x + thread;
    if (sum(x).item<float>() != 3000.0f * static_cast<float>(1 + 30 * thread)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST_P(Threads, AllocateAndFreeAcrossThreads) {
  const uint64_t before = memory_allocated(device());
  std::vector<Tensor> made(64);
  on_threads(4, [&](int thread) {
    for (size_t i = static_cast<size_t>(thread); i < made.size(); i += 4) {
      made[i] = full({static_cast<int64_t>(i) * 37 + 1}, static_cast<int64_t>(i),
                     TensorOptions(kI64, device()));
    }
  });
  on_threads(4, [&](int thread) {
    for (size_t i = static_cast<size_t>(thread); i < made.size(); i += 4) {
      const size_t other = made.size() - 1 - i;
      EXPECT_EQ(made[other].select(0, 0).item<int64_t>(), static_cast<int64_t>(other));
    }
  });
  on_threads(2, [&](int thread) {
    for (size_t i = static_cast<size_t>(thread); i < made.size(); i += 2) made[i] = Tensor();
  });
  EXPECT_EQ(memory_allocated(device()), before);
}

TEST_P(Threads, ManyShortThreadsLeaveNothingBehind) {
  const uint64_t before = memory_allocated(device());
  for (int round = 0; round < 25; ++round) {
    on_threads(4, [&](int) { (void)sum(ones({100}, TensorOptions(device()))).item<float>(); });
  }
  EXPECT_EQ(memory_allocated(device()), before);
  empty_cache(device());
  EXPECT_LE(memory_reserved(device()), before + (24u << 20));
}

TEST_P(Threads, MoveBetweenDevicesBothWays) {
  std::atomic<int> wrong{0};
  const std::vector<std::string> all = device_names();
  on_threads(4, [&](int thread) {
    for (int i = 0; i < 8; ++i) {
      const Device other(all[static_cast<size_t>(thread + i) % all.size()]);
      const Tensor x = full({1000}, thread * 100 + i, TensorOptions(kI32, device()));
      if (sum(x.to(other).to(device())).item<int64_t>() != int64_t{1000} * (thread * 100 + i)) {
        ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ferry::test
