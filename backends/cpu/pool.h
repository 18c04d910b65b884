// SPDX-License-Identifier: Apache-2.0
//
// Pooling of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_POOL_H
#define FERRY_CPU_POOL_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of pool/1: 1 to 3 spatial dimensions, floating dtypes.
const hal::Kernel& pool_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_POOL_H
