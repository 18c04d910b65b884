// SPDX-License-Identifier: Apache-2.0
//
// Linear and Embedding.
#ifndef FERRY_NN_LINEAR_H
#define FERRY_NN_LINEAR_H

#include "ferry/nn/module.h"

namespace ferry::nn {

struct LinearOptions {
  bool bias = true;
};

/// x [..., in] to [..., out]: x weight^T + bias. weight [out, in] and bias
/// [out] start uniform within 1 / sqrt(in), as PyTorch's.
class FERRY_API Linear : public Module {
 public:
  Linear(int64_t in_features, int64_t out_features, LinearOptions options = {});

  Parameter weight, bias;
  FERRY_MODULE(weight, bias)

  Tensor forward(const Tensor& x) const;
  int64_t in_features() const noexcept { return in_; }
  int64_t out_features() const noexcept { return out_; }
  std::string extra_repr() const override;

 private:
  int64_t in_, out_;
};

/// Indices of any shape, int64 or int32, to rows of weight [n, dim]: [..., dim].
/// The weight starts normal.
class FERRY_API Embedding : public Module {
 public:
  Embedding(int64_t num_embeddings, int64_t embedding_dim);

  Parameter weight;
  FERRY_MODULE(weight)

  Tensor forward(const Tensor& index) const;
  std::string extra_repr() const override;

 private:
  int64_t n_, dim_;
};

}  // namespace ferry::nn

#endif  // FERRY_NN_LINEAR_H
