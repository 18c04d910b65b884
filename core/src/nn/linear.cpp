// SPDX-License-Identifier: Apache-2.0
//
// Linear and Embedding.
#include "ferry/nn/linear.h"

#include <fmt/format.h>

#include <cmath>

#include "ferry/nn/init.h"
#include "ferry/ops.h"
#include "nn/repr.h"

namespace ferry::nn {

Linear::Linear(int64_t in_features, int64_t out_features, LinearOptions options)
    : in_(in_features), out_(out_features) {
  const double bound = in_ > 0 ? 1 / std::sqrt(static_cast<double>(in_)) : 0;
  weight = Parameter(uniform({out_, in_}, bound));
  if (options.bias) bias = Parameter(uniform({out_}, bound));
}

Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

std::string Linear::extra_repr() const {
  return fmt::format("in_features={}, out_features={}, bias={}", in_, out_, repr(bias.defined()));
}

Embedding::Embedding(int64_t num_embeddings, int64_t embedding_dim)
    : weight(normal({num_embeddings, embedding_dim})), n_(num_embeddings), dim_(embedding_dim) {}

Tensor Embedding::forward(const Tensor& index) const { return embedding(weight, index); }

std::string Embedding::extra_repr() const { return fmt::format("{}, {}", n_, dim_); }

}  // namespace ferry::nn
