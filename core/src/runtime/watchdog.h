// SPDX-License-Identifier: Apache-2.0
//
// The watchdog's limit: how long the host waits for a device before it says
// that a kernel hangs.
#ifndef FERRY_RUNTIME_WATCHDOG_H
#define FERRY_RUNTIME_WATCHDOG_H

#include <chrono>

namespace ferry::runtime {

/// FERRY_WATCHDOG_MS, read once; 0, the default, waits for ever.
/// InvalidArgument for a value that is no number.
std::chrono::milliseconds watchdog_limit();

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_WATCHDOG_H
