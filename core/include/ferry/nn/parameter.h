// SPDX-License-Identifier: Apache-2.0
//
// Parameter and Buffer: the tensors that a module owns by name.
#ifndef FERRY_NN_PARAMETER_H
#define FERRY_NN_PARAMETER_H

#include <utility>

#include "ferry/tensor.h"

namespace ferry::nn {

/// A tensor that training would change. It is a handle: assigning one to
/// another ties the two; copy_() writes values. An undefined one (a layer
/// without bias) is skipped everywhere.
class Parameter : public Tensor {
 public:
  Parameter() noexcept = default;
  explicit Parameter(Tensor tensor) noexcept : Tensor(std::move(tensor)) {}
};

/// A tensor that belongs to the module but is not trained: running statistics,
/// tables. One that is not persistent moves with the module but is no part of
/// its state dict.
class Buffer : public Tensor {
 public:
  Buffer() noexcept = default;
  explicit Buffer(Tensor tensor, bool persistent = true) noexcept
      : Tensor(std::move(tensor)), persistent_(persistent) {}

  bool is_persistent() const noexcept { return persistent_; }

 private:
  bool persistent_ = true;
};

}  // namespace ferry::nn

#endif  // FERRY_NN_PARAMETER_H
