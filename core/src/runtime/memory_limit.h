// SPDX-License-Identifier: Apache-2.0
//
// FERRY_MEMORY_LIMIT: how much memory of a device the process may obtain.
#ifndef FERRY_RUNTIME_MEMORY_LIMIT_H
#define FERRY_RUNTIME_MEMORY_LIMIT_H

#include <cstdint>

#include "ferry/device.h"

namespace ferry::runtime {

/// The limit for `device` in bytes, 0 where there is none. InvalidArgument for a
/// value that is not of the form "device=size;...".
uint64_t memory_limit_from_environment(const Device& device);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_MEMORY_LIMIT_H
