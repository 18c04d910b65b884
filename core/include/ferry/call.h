// SPDX-License-Identifier: Apache-2.0
//
// What a plugin has beyond Ferry's operations: kernel families and tables of
// its own, for programs that know that plugin.
#ifndef FERRY_CALL_H
#define FERRY_CALL_H

#include <string_view>
#include <vector>

#include "ferry/device.h"
#include "ferry/export.h"
#include "ferry/tensor.h"

namespace ferry {

/// Runs a kernel family of a plugin's own, "acme.fft/1", on the device of the
/// tensors:
///
///   call("acme.axpy/1", {x, y}, {out}, &attributes);
///
/// `outputs` are the caller's and are written; none is empty. `attributes` is
/// the family's own struct, or null; it need not outlive the call. Inputs are
/// made contiguous where the kernel needs that. Ordered in the current stream;
/// returns before the work is done where the device is asynchronous. Nothing
/// runs on the CPU instead.
/// UnsupportedError: the device has no such family (the text names those it
/// has), or none of its kernels takes these tensors. InvalidArgument: tensors on
/// several devices, without elements, outputs that share memory, or a family of
/// Ferry's own, for which ops.h has functions.
FERRY_API void call(std::string_view family, const std::vector<Tensor>& inputs,
                    const std::vector<Tensor>& outputs, const void* attributes = nullptr);

/// The table that the plugin of `device` offers under `name`, "acme.graph/2", or
/// null. It begins with its uint32_t size and is valid for the process. Its
/// functions know nothing of Ferry's streams: synchronize() before them. Any
/// thread.
FERRY_API const void* extension(const Device& device, std::string_view name);

}  // namespace ferry

#endif  // FERRY_CALL_H
