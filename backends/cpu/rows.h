// SPDX-License-Identifier: Apache-2.0
//
// Kernels that work on whole rows, for the backend's list of kernels.
#ifndef FERRY_CPU_ROWS_H
#define FERRY_CPU_ROWS_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// softmax/1 along the last dimension of some size.
const hal::Kernel& softmax_kernel();
/// layer_norm/1.
const hal::Kernel& layer_norm_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_ROWS_H
