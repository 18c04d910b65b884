// SPDX-License-Identifier: Apache-2.0
//
// Moving many small tensors between host and device in a few large copies.
#ifndef FERRY_NN_MOVE_TOGETHER_H
#define FERRY_NN_MOVE_TOGETHER_H

#include <vector>

#include "ferry/tensor.h"

namespace ferry::nn {

/// The tensors on `target`, in their order; undefined where a tensor is better
/// moved by itself: it is large, not contiguous, already there, or has no
/// neighbour to travel with. The result is complete on return. Each has a
/// storage of its own. OutOfMemoryError with nothing changed.
std::vector<Tensor> move_together(const std::vector<Tensor>& tensors, const Device& target);

}  // namespace ferry::nn

#endif  // FERRY_NN_MOVE_TOGETHER_H
