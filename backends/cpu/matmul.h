// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_MATMUL_H
#define FERRY_CPU_MATMUL_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of matmul/1: every dtype but bool, any strides, any map. Blocks
/// until the product is there; any thread. Lives as long as the process.
const hal::Kernel& matmul_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_MATMUL_H
