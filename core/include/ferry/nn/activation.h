// SPDX-License-Identifier: Apache-2.0
//
// Layers without state: activations, Softmax, Flatten, Identity.
#ifndef FERRY_NN_ACTIVATION_H
#define FERRY_NN_ACTIVATION_H

#include "ferry/nn/module.h"
#include "ferry/ops.h"

namespace ferry::nn {

class FERRY_API ReLU : public Module {
 public:
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const { return relu(x); }
};

/// x * sigmoid(x).
class FERRY_API SiLU : public Module {
 public:
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const { return silu(x); }
};

class FERRY_API Sigmoid : public Module {
 public:
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const { return sigmoid(x); }
};

class FERRY_API Tanh : public Module {
 public:
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const { return tanh(x); }
};

struct GELUOptions {
  bool tanh = false;  ///< PyTorch's approximate='tanh'
};

/// x * P(N <= x) for a normal N: by the error function, or approximately
/// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
class FERRY_API GELU : public Module {
 public:
  explicit GELU(GELUOptions options = {}) : options_(options) {}
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;

 private:
  GELUOptions options_;
};

/// exp(x) over their sum along `dim`.
class FERRY_API Softmax : public Module {
 public:
  explicit Softmax(int64_t dim) : dim_(dim) {}
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const { return softmax(x, dim_); }
  std::string extra_repr() const override;

 private:
  int64_t dim_;
};

/// One dimension out of `start` to `end`, inclusive: all but the first.
class FERRY_API Flatten : public Module {
 public:
  explicit Flatten(int64_t start = 1, int64_t end = -1) : start_(start), end_(end) {}
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const { return x.flatten(start_, end_); }
  std::string extra_repr() const override;

 private:
  int64_t start_, end_;
};

/// x itself: keeps the number of a layer that is left out.
class FERRY_API Identity : public Module {
 public:
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const { return x; }
};

}  // namespace ferry::nn

#endif  // FERRY_NN_ACTIVATION_H
