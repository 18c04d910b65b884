// SPDX-License-Identifier: Apache-2.0
//
// libtorch as a peer, without differentiation, on as many threads as Ferry.
#include <torch/torch.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "groups.h"

namespace ferry::bench {
namespace {

using Work = std::function<at::Tensor()>;

Work work_of(const std::string& name, int64_t n) {
  const at::Tensor a = torch::rand({n});
  if (name == "empty") return [n] { return torch::empty({n}); };
  if (name == "add") return [a, b = a + 1] { return a + b; };
  if (name == "exp") return [a] { return at::exp(a); };
  if (name == "gelu") return [a] { return at::gelu(a); };
  if (name == "sigmoid") return [a] { return at::sigmoid(a); };
  if (name == "sum") return [a] { return at::sum(a); };
  if (name == "to_bf16") return [a] { return a.to(at::kBFloat16); };
  if (name == "chain") {
    return [a, b = a + 1] { return at::relu((a * b + a - b) * 0.5f); };
  }
  const bool rows = name == "softmax" || name == "layer_norm";
  const at::Tensor m = torch::rand({n, rows ? 1024 : n});
  if (name == "view") return [m] { return m.view({32, 128}); };
  if (name == "slice") return [m] { return m.slice(0, 8, 32); };
  if (name == "softmax") return [m] { return at::softmax(m, 1); };
  if (name == "layer_norm") {
    return [m, w = torch::ones({1024}), b = torch::zeros({1024})] {
      return at::layer_norm(m, {1024}, w, b);
    };
  }
  if (name == "matmul") return [m] { return at::matmul(m, m); };
  return nullptr;
}

}  // namespace

std::vector<Candidate> torch_candidates(const std::string& name, int64_t n) {
  at::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const torch::NoGradGuard no_grad;
  Work work = work_of(name, n);
  if (work == nullptr) return {};
  return {{"libtorch", [work = std::move(work)](int64_t times) {
             const c10::InferenceMode mode;
             for (int64_t i = 0; i < times; ++i) {
               const at::Tensor y = work();
               keep(y);
             }
           }}};
}

}  // namespace ferry::bench
