// SPDX-License-Identifier: Apache-2.0
//
// Finds a device that has pinned host memory.
#include "runtime/pinned.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ferry/error.h"
#include "ferry/stream.h"
#include "runtime/device_state.h"

namespace ferry::runtime {
namespace {

/// Those to ask, best first, each once: another device is opened only when none
/// in use has such memory.
std::vector<Device> candidates() {
  std::vector<Device> out;
  const auto add = [&](const Device& device) {
    const bool known = std::find(out.begin(), out.end(), device) != out.end();
    if (!device.is_cpu() && !known) out.push_back(device);
  };
  add(current_device());
  for (DeviceState* state : DeviceState::all()) add(state->device());
  for (const DeviceProperties& properties : devices()) add(properties.device);
  return out;
}

}  // namespace

detail::Storage* pinned_storage(const std::optional<Device>& device, uint64_t bytes,
                                const char* where) {
  if (device && device->is_cpu()) {
    throw InvalidArgument(where,
                          "the CPU's memory is pinned for an accelerator: name that one, or none");
  }
  std::string reasons;
  for (const Device& candidate : device ? std::vector<Device>{*device} : candidates()) {
    try {
      DeviceState& state = DeviceState::get(candidate);
      // At least a byte, so that the answer does not depend on the size.
      return detail::new_pinned_storage(state, std::max<uint64_t>(bytes, 1));
    } catch (const UnsupportedError& e) {
      reasons += "; " + std::string(e.what());
    } catch (const UnavailableError& e) {
      if (device) throw;
      reasons += "; " + std::string(e.what());
    } catch (const DeviceLostError& e) {
      if (device) throw;
      reasons += "; " + std::string(e.what());
    }
  }
  const std::string who = device ? device->str() + " has no" : "no device here has";
  throw UnsupportedError(where, who + " pinned host memory" + reasons +
                                    ". Go without it: copies from ordinary memory work too");
}

detail::Storage* try_pinned_storage(DeviceState& accelerator, uint64_t bytes) {
  if (accelerator.device().is_cpu() || accelerator.pinned().missing()) return nullptr;
  try {
    return detail::new_pinned_storage(accelerator, bytes);
  } catch (const UnsupportedError&) {
    return nullptr;
  } catch (const OutOfMemoryError&) {
    return nullptr;
  }
}

}  // namespace ferry::runtime
