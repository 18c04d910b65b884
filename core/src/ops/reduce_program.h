// SPDX-License-Identifier: Apache-2.0
//
// Reductions of a program's values, which are never stored themselves.
#ifndef FERRY_OPS_REDUCE_PROGRAM_H
#define FERRY_OPS_REDUCE_PROGRAM_H

#include <span>

#include "ferry/abi/kernel.h"
#include "ferry/tensor.h"

namespace ferry::ops {

/// Reduces over `dims` (all when empty) the values, of `dtype`, of a program
/// with one output over tensors of one shape and device.
Tensor reduce_program(const char* where, ferry_reduce_op op, std::span<const Tensor> in,
                      const ferry_program& program, DType dtype, ShapeRef dims, bool keepdim);

}  // namespace ferry::ops

#endif  // FERRY_OPS_REDUCE_PROGRAM_H
