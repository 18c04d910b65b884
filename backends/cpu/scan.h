// SPDX-License-Identifier: Apache-2.0
//
// Running sums of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_SCAN_H
#define FERRY_CPU_SCAN_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of scan/1: all dtypes and strides.
const hal::Kernel& scan_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_SCAN_H
