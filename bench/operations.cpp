// SPDX-License-Identifier: Apache-2.0
//
// Group "operations": through the public API on the CPU, beside the peers that
// are built in.
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "ferry/ferry.h"
#include "groups.h"

namespace ferry::bench {
namespace {

using Work = std::function<Tensor()>;

Candidate ferry_candidate(Work work) {
  return {"ferry", [work = std::move(work)](int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
              const Tensor y = work();
              keep(y);
            }
          }};
}

void row(const std::string& title, const std::string& peer_work, int64_t n, Work work, Goal goal,
         double bytes = 0) {
  std::vector<Candidate> all = {ferry_candidate(std::move(work))};
  for (auto* peers : {&torch_candidates, &eigen_candidates}) {
    for (Candidate& c : (*peers)(peer_work, n)) all.push_back(std::move(c));
  }
  const bool alone = all.size() == 1 && goal.kind != Goal::Kind::kNanoseconds;
  compare(title, std::move(all), alone ? Goal{} : goal, bytes);
}

void bench_small() {
  group("Operations: small tensors");
  const Tensor a = ones({16});
  const Tensor b = ones({16});
  const Tensor m = ones({64, 64});
  row(
      "a + b of 16 floats, fresh result", "add", 16, [&] { return a + b; }, at_most_ns(120));
  row(
      "view of 64 x 64", "view", 64,
      [&] {
        return m.view({32, 128});
      },
      at_most_ns(60));
  row(
      "slice of 64 x 64", "slice", 64, [&] { return m.slice(0, 8, 32); }, at_most_ns(60));
}

void bench_elementwise() {
  group("Operations: element-wise, f32, fresh results");
  for (const int64_t n : {int64_t{1} << 20, int64_t{16} << 20}) {
    const Tensor a = arange(0, 1, 1.0 / static_cast<double>(n)).slice(0, 0, n);
    const Tensor b = a + 1;
    const std::string of = " of " + std::to_string(n >> 20) + "M";
    const auto bytes = static_cast<double>(n) * 4;
    row(
        "a + b" + of, "add", n, [&] { return a + b; }, at_most_times(1 / 0.7), 3 * bytes);
    row(
        "exp" + of, "exp", n, [&] { return exp(a); }, at_most_times(1 / 0.7), 2 * bytes);
    row(
        "gelu" + of, "gelu", n, [&] { return gelu(a); }, at_most_times(1 / 0.7), 2 * bytes);
    row(
        "sigmoid" + of, "sigmoid", n, [&] { return sigmoid(a); }, at_most_times(1 / 0.7),
        2 * bytes);
    row(
        "sum" + of, "sum", n, [&] { return sum(a); }, at_most_times(1 / 0.7), bytes);
    row(
        "to bfloat16" + of, "to_bf16", n, [&] { return a.to(kBF16); }, at_most_times(1 / 0.7),
        1.5 * bytes);
  }
}

void bench_fusion() {
  group("Operations: five element-wise steps on 16M floats");
  const int64_t n = int64_t{16} << 20;
  const Tensor a = ones({n});
  const Tensor b = ones({n});
  const auto body = [](const auto& x, const auto& y) { return relu((x * y + x - y) * 0.5); };
  const auto fused = fuse<2>(body);
  std::vector<Candidate> all = {ferry_candidate([&] { return fused(a, b); }),
                                ferry_candidate([&] { return body(a, b); })};
  all[0].name = "fused";
  all[1].name = "one by one";
  for (Candidate& c : torch_candidates("chain", n)) all.push_back(std::move(c));
  compare("relu((a * b + a - b) * 0.5)", std::move(all), at_most_times(0.5),
          3.0 * 4 * static_cast<double>(n));
}

void bench_rows() {
  group("Operations: rows, products");
  const Tensor x = ones({4096, 1024});
  const double bytes = 2.0 * 4 * 4096 * 1024;
  row(
      "softmax of 4096 x 1024", "softmax", 4096, [&] { return softmax(x, 1); }, at_most_times(1),
      bytes);
  nn::LayerNorm norm({1024});
  row(
      "layer_norm of 4096 x 1024", "layer_norm", 4096, [&] { return norm(x); }, at_most_times(1),
      bytes);
  for (const int64_t n : {64, 256, 1024}) {
    const Tensor a = ones({n, n});
    const Tensor b = ones({n, n});
    row(
        "matmul " + std::to_string(n), "matmul", n, [&] { return matmul(a, b); },
        at_most_times(1 / 0.9));
  }
}

}  // namespace

void bench_operations() {
  bench_small();
  bench_elementwise();
  bench_fusion();
  bench_rows();
}

}  // namespace ferry::bench
