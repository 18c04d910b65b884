// SPDX-License-Identifier: Apache-2.0
//
// Gathering of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_GATHER_H
#define FERRY_CPU_GATHER_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of gather/1: both modes, all dtypes and strides.
const hal::Kernel& gather_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_GATHER_H
