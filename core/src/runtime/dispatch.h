// SPDX-License-Identifier: Apache-2.0
//
// launch(): finds the kernel for a call on its device, or runs the call on the
// CPU by the FERRY_FALLBACK policy.
#ifndef FERRY_RUNTIME_DISPATCH_H
#define FERRY_RUNTIME_DISPATCH_H

#include <span>

#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry::runtime {

/// One call of a kernel family, everything decided: shapes inferred, outputs
/// allocated, no empty tensor among them, all on `device`.
struct Launch {
  const char* op;  ///< for messages: "conv2d"
  Family family;
  std::span<const Tensor> in;
  std::span<const Tensor> out;
  const void* attr = nullptr;
  const ferry_program* map = nullptr;
};

/// Ordered in the device's stream; returns before the work is done where the
/// device is asynchronous. UnsupportedError where neither the device nor, by
/// policy, the CPU runs it.
void launch(DeviceState& device, const Launch& call);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_DISPATCH_H
