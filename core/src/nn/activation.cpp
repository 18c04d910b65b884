// SPDX-License-Identifier: Apache-2.0
//
// The layers without state that need more than one line.
#include "ferry/nn/activation.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace ferry::nn {

Tensor GELU::forward(const Tensor& x) const {
  if (!options_.tanh) return gelu(x);
  const double slope = std::sqrt(2 / std::numbers::pi);
  return x * 0.5 * (ferry::tanh((x + x * square(x) * 0.044715) * slope) + 1);
}

std::string GELU::extra_repr() const {
  return options_.tanh ? "approximate='tanh'" : "approximate='none'";
}

std::string Softmax::extra_repr() const { return fmt::format("dim={}", dim_); }

std::string Flatten::extra_repr() const {
  return fmt::format("start_dim={}, end_dim={}", start_, end_);
}

}  // namespace ferry::nn
