// SPDX-License-Identifier: Apache-2.0
//
// launch(): finds the kernel for a call on its device, or runs the call on the
// CPU by the FERRY_FALLBACK policy.
#ifndef FERRY_OPS_DISPATCH_H
#define FERRY_OPS_DISPATCH_H

#include <span>

#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry::ops {

using runtime::DeviceState;
using runtime::Family;

/// Tensors of one call at most.
inline constexpr size_t kMaxTensors = 24;

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

/// The same, where the device itself has a kernel for the call; else false, and
/// nothing happened. For calls that can also be done in several steps.
[[nodiscard]] bool try_launch(DeviceState& device, const Launch& call);
/// With one of `kernels`, which are the device's.
[[nodiscard]] bool try_launch(DeviceState& device, const Launch& call,
                              std::span<const hal::Kernel* const> kernels);

}  // namespace ferry::ops

#endif  // FERRY_OPS_DISPATCH_H
