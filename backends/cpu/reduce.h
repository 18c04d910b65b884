// SPDX-License-Identifier: Apache-2.0
//
// Reductions of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_REDUCE_H
#define FERRY_CPU_REDUCE_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of reduce/1: all ops, dtypes and strides, with or without a map.
const hal::Kernel& reduce_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_REDUCE_H
