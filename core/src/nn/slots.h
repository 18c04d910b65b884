// SPDX-License-Identifier: Apache-2.0
//
// Slots: every parameter and buffer inside a module, in PyTorch's order.
#ifndef FERRY_NN_SLOTS_H
#define FERRY_NN_SLOTS_H

#include <string>
#include <vector>

#include "ferry/nn/module.h"

namespace ferry::nn {

/// A defined tensor of a module and its full name.
struct Slot {
  enum class Kind { kParameter, kBuffer, kTransientBuffer };

  std::string name;
  Tensor* tensor;
  Kind kind;

  bool in_state_dict() const noexcept { return kind != Kind::kTransientBuffer; }
};

/// Tied tensors come under each of their names. Valid until the module changes.
std::vector<Slot> slots_of(const Module& module);

/// The parts of `module`. They are not to be changed where it is const.
Parts parts_of(const Module& module);

/// Whether both are the same elements of the same storage.
bool same_view(const Tensor& a, const Tensor& b);

}  // namespace ferry::nn

#endif  // FERRY_NN_SLOTS_H
