// SPDX-License-Identifier: Apache-2.0
//
// Copies between tensors that lie transposed to each other.
#ifndef FERRY_CPU_TRANSPOSE_H
#define FERRY_CPU_TRANSPOSE_H

#include "map.h"

namespace ferry::cpu {

/// Copies operand 0 of the walk into operand 1, of the same dtype, where one has
/// its elements side by side along one dimension and the other along another.
/// False, and nothing done, where that is not so or the tensors are small.
bool transpose_copy(const Walk& walk);

}  // namespace ferry::cpu

#endif  // FERRY_CPU_TRANSPOSE_H
