// SPDX-License-Identifier: Apache-2.0
//
// Dropout.
#include "ferry/nn/dropout.h"

#include <fmt/format.h>

#include "ferry/error.h"
#include "ferry/random.h"
#include "nn/repr.h"

namespace ferry::nn {

Dropout::Dropout(double p) : p_(p) {
  if (p >= 0 && p <= 1) return;
  throw InvalidArgument("Dropout",
                        fmt::format("the probability must be from 0 to 1, and is {}", repr(p)));
}

Tensor Dropout::forward(const Tensor& x) const { return dropout(x, p_, is_training()); }

// PyTorch's `inplace` has no use here, but stands in its text.
std::string Dropout::extra_repr() const { return fmt::format("p={}, inplace=False", repr(p_)); }

}  // namespace ferry::nn
