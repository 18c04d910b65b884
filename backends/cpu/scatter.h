// SPDX-License-Identifier: Apache-2.0
//
// Scattering of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_SCATTER_H
#define FERRY_CPU_SCATTER_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of scatter/1: all dtypes and strides.
const hal::Kernel& scatter_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_SCATTER_H
