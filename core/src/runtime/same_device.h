// SPDX-License-Identifier: Apache-2.0
//
// Whether devices of two backends are one piece of hardware.
#ifndef FERRY_RUNTIME_SAME_DEVICE_H
#define FERRY_RUNTIME_SAME_DEVICE_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/registry.h"

namespace ferry::runtime {

/// `text` in small letters.
std::string lower_case(std::string_view text);
/// A UUID without "gpu-", dashes and capitals; empty for one of zeros.
std::string plain_uuid(std::string_view text);
/// A PCI address as domain:bus:device.function without leading zeros and
/// capitals, the domain 0 where none is given; empty for one of zeros.
std::string plain_pci(std::string_view text);

/// Fills BackendEntry::same_as: for each accelerator the first device before
/// it, of another backend, with its UUID or else its PCI address. Several that
/// share an address, as parts of one card do, are paired in order.
void mark_same_devices(const std::vector<std::unique_ptr<BackendEntry>>& backends);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_SAME_DEVICE_H
