// SPDX-License-Identifier: Apache-2.0
//
// How the runtime says something: to the user's callback and to stderr, each
// only when it was asked for.
#ifndef FERRY_RUNTIME_LOG_H
#define FERRY_RUNTIME_LOG_H

#include <string_view>

#include "ferry/log.h"

namespace ferry::runtime {

/// Whether anyone listens at `level`; ask before building a costly text.
bool log_enabled(LogLevel level) noexcept;

/// Any thread. Must not be called under a lock unless a LogHold is alive.
void log(LogLevel level, std::string_view component, std::string_view text) noexcept;

/// What the user asked for by another variable, such as FERRY_LAYERS: as log(),
/// and from kWarn on to stderr where nobody listens: FERRY_LOG is not set and
/// there is no callback.
void log_as_asked(LogLevel level, std::string_view component, std::string_view text) noexcept;

/// While one is alive, lines for the callback wait; the last one to go delivers
/// them. Taken before a lock, so that the callback runs after its release.
class LogHold {
 public:
  LogHold();
  ~LogHold();
  LogHold(const LogHold&) = delete;
  LogHold& operator=(const LogHold&) = delete;
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_LOG_H
