// SPDX-License-Identifier: Apache-2.0
//
// What the host does for plugins: keeps the text of a failure for its thread,
// logs, answers options, and hears of lost devices.
#ifndef FERRY_RUNTIME_HOST_SERVICES_H
#define FERRY_RUNTIME_HOST_SERVICES_H

#include <string>
#include <string_view>
#include <utility>

#include "ferry/abi/plugin.h"

namespace ferry::runtime {

/// The services without a plugin's name: options are absent. Also binds
/// hal::fail() of this library to them.
const ferry_host& host_services();

/// The services for the plugins called `name`, the same table each time; null
/// when more names than the process has room for came along.
const ferry_host* host_services_for(std::string_view name);

/// "where: text" of this thread's last failure, or empty; clears it.
std::string take_failure();

/// The last line that a plugin logged on this thread, or empty; clears it.
std::string take_log_line();

/// Called when a plugin says that a device is lost, on the plugin's thread.
/// The text is valid for the call only.
using DeviceLostHandler = void (*)(ferry_device device, const char* text);
void set_device_lost_handler(DeviceLostHandler handler) noexcept;

/// Keeps the exception now being handled as this thread's failure, and returns
/// its code.
ferry_rc fail_from_exception(const char* where) noexcept;

/// Calls foreign code that must not throw but might.
template <class Function>
ferry_rc guarded(const char* where, Function&& function) noexcept {
  try {
    return std::forward<Function>(function)();
  } catch (...) {
    return fail_from_exception(where);
  }
}

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_HOST_SERVICES_H
