// SPDX-License-Identifier: Apache-2.0
//
// Which of the devices here a device list means.
#ifndef FERRY_RUNTIME_PICK_DEVICES_H
#define FERRY_RUNTIME_PICK_DEVICES_H

#include <cstdint>
#include <vector>

#include "runtime/device_list.h"
#include "runtime/registry.h"

namespace ferry::runtime {

struct Picked {
  int backend = 0;  ///< BackendEntry::id
  uint32_t index = 0;
  friend auto operator<=>(const Picked&, const Picked&) = default;  // NOLINT(modernize-use-nullptr)
};

/// The devices in the order of the list; where it only excludes, in that of the
/// registry. InvalidArgument: one is named twice, or several fit one text.
/// UnavailableError: one is not here. Both underline the term.
std::vector<Picked> pick_devices(const DeviceList& list, const Registry& registry);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_PICK_DEVICES_H
