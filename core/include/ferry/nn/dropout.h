// SPDX-License-Identifier: Apache-2.0
//
// Dropout.
#ifndef FERRY_NN_DROPOUT_H
#define FERRY_NN_DROPOUT_H

#include "ferry/nn/module.h"

namespace ferry::nn {

/// In training mode each element is 0 with probability p and x / (1 - p)
/// otherwise, by the default generator; in evaluation mode x itself.
/// InvalidArgument unless 0 <= p <= 1.
class FERRY_API Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5);
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;

 private:
  double p_;
};

}  // namespace ferry::nn

#endif  // FERRY_NN_DROPOUT_H
