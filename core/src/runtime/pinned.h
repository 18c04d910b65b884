// SPDX-License-Identifier: Apache-2.0
//
// Which device's driver gives pinned host memory.
#ifndef FERRY_RUNTIME_PINNED_H
#define FERRY_RUNTIME_PINNED_H

#include <cstdint>
#include <optional>

#include "ferry/device.h"
#include "runtime/storage.h"

namespace ferry::runtime {

/// Pinned storage of the CPU from `device`'s driver; without a device from that
/// of the current one, of one in use, or of any. UnsupportedError naming `where`
/// and the reasons when there is none, OutOfMemoryError.
detail::Storage* pinned_storage(const std::optional<Device>& device, uint64_t bytes,
                                const char* where);
/// Null where the device has no such memory, or no room.
detail::Storage* try_pinned_storage(DeviceState& accelerator, uint64_t bytes);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_PINNED_H
