// SPDX-License-Identifier: Apache-2.0
//
// Eigen as a peer: one thread, fresh results, compiled for this machine.
#include <Eigen/Core>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "groups.h"

namespace ferry::bench {
namespace {

using Array = Eigen::ArrayXf;

template <class Work>
std::vector<Candidate> candidate(Work work) {
  return {{"eigen x1", [work = std::move(work)](int64_t n) {
             for (int64_t i = 0; i < n; ++i) {
               const auto y = work();
               keep(y);
             }
           }}};
}

}  // namespace

std::vector<Candidate> eigen_candidates(const std::string& name, int64_t n) {
  const auto make = [n] { return std::make_shared<Array>(Array::LinSpaced(n, 0, 1)); };
  if (name == "add") return candidate([a = make(), b = make()] { return Array(*a + *b); });
  if (name == "exp") return candidate([a = make()] { return Array(a->exp()); });
  if (name == "sum") return candidate([a = make()] { return a->sum(); });
  if (name == "sigmoid") {
    return candidate([a = make()] { return Array(1.0f / (1.0f + (-*a).exp())); });
  }
  return {};
}

}  // namespace ferry::bench
