// SPDX-License-Identifier: Apache-2.0
//
// Sorting of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_SORT_H
#define FERRY_CPU_SORT_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of sort/1: all dtypes and strides.
const hal::Kernel& sort_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_SORT_H
