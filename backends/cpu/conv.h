// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of the CPU backend, for the backend's list of kernels.
#ifndef FERRY_CPU_CONV_H
#define FERRY_CPU_CONV_H

#include "ferry/hal/kernel.h"

namespace ferry::cpu {

/// The kernel of conv/1: f16, bf16, f32 and f64, contiguous tensors. Blocks
/// until the result is there; any thread. Lives as long as the process.
const hal::Kernel& conv_kernel();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_CONV_H
