// SPDX-License-Identifier: Apache-2.0
//
// Group "memory": what a tensor costs to make and to move, beside malloc,
// memcpy, and what the simulator's own settings allow.
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "ferry/ferry.h"
#include "groups.h"

namespace ferry::bench {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

/// memcpy in equal parts by `threads` threads of TBB.
void parallel_memcpy(std::byte* dst, const std::byte* src, size_t bytes, int threads) {
  if (threads == 1) {
    std::memcpy(dst, src, bytes);
    return;
  }
  const size_t part = bytes / static_cast<size_t>(threads);
  tbb::parallel_for(0, threads, [&](int i) {
    const size_t begin = part * static_cast<size_t>(i);
    std::memcpy(dst + begin, src + begin, i + 1 == threads ? bytes - begin : part);
  });
}

void bench_handles() {
  group("Tensors: making and keeping them");
  const Tensor x = zeros({16});
  const Device cpu = x.device();
  compare("x.to(same device)",
          {{"ferry",
            [&](int64_t n) {
              for (int64_t i = 0; i < n; ++i) {
                const Tensor y = x.to(cpu);
                keep(y);
              }
            }}},
          at_most_ns(5));
  const auto malloc_16 = [](int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      void* p = std::malloc(64);
      keep(p);
      std::free(p);
    }
  };
  std::vector<Candidate> makers = {{"ferry",
                                    [](int64_t n) {
                                      for (int64_t i = 0; i < n; ++i) {
                                        const Tensor y = empty({16});
                                        keep(y);
                                      }
                                    }},
                                   {"malloc", malloc_16}};
  for (Candidate& c : torch_candidates("empty", 16)) makers.push_back(std::move(c));
  compare("empty({16}), from the cache", makers, at_most_ns(60));

  // The same by several threads at once: no lock that all want.
  const int threads = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  const auto by_threads = [threads](const std::function<void(int64_t)>& one) {
    return [one, threads](int64_t n) {
      std::vector<std::thread> crew;
      for (int t = 0; t < threads; ++t) crew.emplace_back([&one, n] { one(n); });
      for (std::thread& t : crew) t.join();
    };
  };
  compare("empty({16}) on " + std::to_string(threads) + " threads at once",
          {{"ferry", by_threads(makers[0].run)}, {"one thread", makers[0].run}},
          at_most_times(1.3));
}

void bench_copies() {
  group("Copies of 256 MB");
  const size_t bytes = 256u << 20;
  const Tensor src = ones({static_cast<int64_t>(bytes)}, TensorOptions(kU8));
  const Tensor dst = ones({static_cast<int64_t>(bytes)}, TensorOptions(kU8));
  std::vector<Candidate> row = {{"ferry", [&](int64_t n) {
                                   for (int64_t i = 0; i < n; ++i) dst.copy_(src);
                                 }}};
  const int most = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int threads = 1; threads <= most; threads *= 2) {
    row.push_back({"memcpy x" + std::to_string(threads), [&src, &dst, bytes, threads](int64_t n) {
                     for (int64_t i = 0; i < n; ++i) {
                       parallel_memcpy(static_cast<std::byte*>(dst.data_ptr()),
                                       static_cast<const std::byte*>(src.data_ptr()), bytes,
                                       threads);
                     }
                   }});
  }
  compare("host to host", row, at_most_times(1.05), static_cast<double>(bytes));
  if (device_count("sim") > 0) {
    const Tensor there = empty({static_cast<int64_t>(bytes)}, TensorOptions(kU8, Device("sim:0")));
    row[0].run = [&src, there](int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        there.copy_(src);
        synchronize(there.device());
      }
    };
    compare("host to simulator", row, at_most_times(1.05), static_cast<double>(bytes));
  }

  const Tensor a = ones({4096, 4096});
  const Tensor b = ones({4096, 4096});
  const Tensor turned = a.t();
  std::vector<Candidate> transposed = {{"ferry",
                                        [&](int64_t n) {
                                          for (int64_t i = 0; i < n; ++i) b.copy_(turned);
                                        }},
                                       {"contiguous", [&](int64_t n) {
                                          for (int64_t i = 0; i < n; ++i) b.copy_(a);
                                        }}};
  compare("transposed copy, 4096 x 4096 f32", transposed, at_most_times(1.3), 2.0 * 64 * kMiB);
}

/// `count` weights of `rows` x 64.
struct Weights : nn::Module {
  std::vector<nn::Linear> layers;
  FERRY_MODULE(layers)

  Weights(int count, int64_t rows) {
    for (int i = 0; i < count; ++i) layers.push_back(nn::Linear(64, rows, {.bias = false}));
  }
  Tensor forward(const Tensor& x) const { return x; }
};

}  // namespace

void bench_memory() {
  bench_handles();
  bench_copies();
}

void bench_staging() {
  group("Copies between simulated devices of 2 GiB/s without peer access");
  if (device_count("sim") < 2) return;
  const int64_t bytes = 256 * kMiB;
  const Tensor first = ones({bytes}, TensorOptions(kU8, Device("sim:0")));
  const Tensor second = ones({bytes}, TensorOptions(kU8, Device("sim:1")));
  synchronize(first.device());
  synchronize(second.device());
  const std::chrono::duration<double> least(static_cast<double>(bytes) / (2.0 * 1024 * kMiB));
  compare("sim:0 to sim:1, 256 MiB",
          {{"ferry",
            [&](int64_t n) {
              for (int64_t i = 0; i < n; ++i) {
                second.copy_(first);
                synchronize(second.device());
              }
            }},
           {"bandwidth", [least](int64_t n) { std::this_thread::sleep_for(least * n); }}},
          at_most_times(1 / 0.9), static_cast<double>(bytes));
}

void bench_module() {
  group("Moving a module to a simulated device with 10 us a copy");
  if (device_count("sim") < 1) return;
  Weights many(1000, 64);
  Weights one(1, 64000);
  const auto move = [](Weights& module) {
    return [&module](int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        module.to(Device("sim:0"));
        synchronize(Device("sim:0"));
        module.to(Device());
      }
    };
  };
  compare("1000 parameters of 16 KiB, there and back",
          {{"ferry", move(many)}, {"one of 16 MB", move(one)}}, at_most_times(1.2),
          2.0 * 1000 * 64 * 64 * 4);
}

}  // namespace ferry::bench
