// SPDX-License-Identifier: Apache-2.0
//
// DeviceAccess: makes a Device from numbers that the runtime knows are right.
#ifndef FERRY_RUNTIME_DEVICE_ACCESS_H
#define FERRY_RUNTIME_DEVICE_ACCESS_H

#include <cstdint>

#include "ferry/device.h"

namespace ferry {

class DeviceAccess {
 public:
  /// `backend` is a BackendEntry::id, `index` one of its devices.
  static Device make(int backend, int index) noexcept {
    Device device;
    device.backend_ = static_cast<int16_t>(backend);
    device.index_ = static_cast<int16_t>(index);
    return device;
  }
};

}  // namespace ferry

#endif  // FERRY_RUNTIME_DEVICE_ACCESS_H
