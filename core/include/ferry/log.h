// SPDX-License-Identifier: Apache-2.0
//
// Where the library's messages go. By default nowhere: it never prints unless
// the environment variable FERRY_LOG asks for lines on stderr.
#ifndef FERRY_LOG_H
#define FERRY_LOG_H

#include <functional>
#include <string_view>

#include "ferry/export.h"

namespace ferry {

enum class LogLevel { kError = 0, kWarn = 1, kInfo = 2, kDebug = 3 };

/// Gets one message. `component` is "runtime" or the name of a backend; both
/// texts are valid for the call only.
using LogCallback =
    std::function<void(LogLevel level, std::string_view component, std::string_view text)>;

/// Sends messages up to `level` to `callback`, in place of an earlier one; an
/// empty function ends that. FERRY_LOG=error|warn|info|debug sends them to
/// stderr as well, and is read once.
///
/// The callback runs on the thread that had something to say, several threads
/// at a time, and never under a lock, so it may call Ferry. What it throws is
/// dropped. One that was replaced may still be running when this returns.
FERRY_API void set_log_callback(LogCallback callback, LogLevel level = LogLevel::kInfo);

}  // namespace ferry

#endif  // FERRY_LOG_H
