// SPDX-License-Identifier: Apache-2.0
//
// The log: callback, stderr lines on request, and holding lines back while the
// runtime has a lock.
#include "runtime/log.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ferry::runtime {
namespace {

constexpr const char* kLevelNames[] = {"error", "warn", "info", "debug"};
constexpr size_t kMaxHeldLines = 4096;

struct Line {
  LogLevel level;
  std::string component, text;
};

struct CallbackState {
  std::mutex mutex;
  std::shared_ptr<const LogCallback> callback;
  int holds = 0;
  std::vector<Line> held;
};

// Never destroyed: plugins' threads may log while the process ends.
CallbackState& callback_state() {
  static auto* const state = new CallbackState();
  return *state;
}

std::atomic<int> callback_level{-1};

void write_stderr(LogLevel level, std::string_view component, std::string_view text) {
  std::string line = "ferry: ";
  line.append(kLevelNames[static_cast<int>(level)]).append(": [").append(component).append("] ");
  line.append(text).append("\n");
  // One call a line, so that lines of several threads do not mix.
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int stderr_level() noexcept {
  static const int level = [] {
    const char* value = secure_getenv("FERRY_LOG");
    if (value == nullptr || *value == '\0') return -1;
    for (int i = 0; i < 4; ++i) {
      if (std::string_view(value) == kLevelNames[i]) return i;
    }
    write_stderr(LogLevel::kWarn, "runtime",
                 "FERRY_LOG='" + std::string(value) +
                     "' is no level: use error, warn, info or debug; taking warn");
    return static_cast<int>(LogLevel::kWarn);
  }();
  return level;
}

void deliver(const LogCallback& callback, LogLevel level, std::string_view component,
             std::string_view text) {
  try {
    callback(level, component, text);
  } catch (...) {
    // A logger's trouble must not become the trouble of the logged operation.
  }
}

void send_to_callback(LogLevel level, std::string_view component, std::string_view text) {
  CallbackState& state = callback_state();
  std::shared_ptr<const LogCallback> callback;
  {
    std::lock_guard lock(state.mutex);
    if (state.holds > 0) {
      if (state.held.size() < kMaxHeldLines) {
        state.held.push_back({level, std::string(component), std::string(text)});
      }
      return;
    }
    callback = state.callback;
  }
  if (callback) deliver(*callback, level, component, text);
}

}  // namespace

bool log_enabled(LogLevel level) noexcept {
  const int l = static_cast<int>(level);
  return l <= callback_level.load(std::memory_order_relaxed) || l <= stderr_level();
}

void log(LogLevel level, std::string_view component, std::string_view text) noexcept {
  const int l = static_cast<int>(level);
  try {
    if (l <= stderr_level()) write_stderr(level, component, text);
    if (l <= callback_level.load(std::memory_order_relaxed)) {
      send_to_callback(level, component, text);
    }
  } catch (...) {
    // No memory for a message: the message is lost, nothing else.
  }
}

void log_as_asked(LogLevel level, std::string_view component, std::string_view text) noexcept {
  const int l = static_cast<int>(level);
  const bool nobody = stderr_level() < 0 && callback_level.load(std::memory_order_relaxed) < 0;
  if (!nobody || l > static_cast<int>(LogLevel::kWarn)) return log(level, component, text);
  try {
    write_stderr(level, component, text);
  } catch (...) {
    // As in log().
  }
}

LogHold::LogHold() {
  CallbackState& state = callback_state();
  std::lock_guard lock(state.mutex);
  ++state.holds;
}

LogHold::~LogHold() {
  CallbackState& state = callback_state();
  std::vector<Line> lines;
  std::shared_ptr<const LogCallback> callback;
  {
    std::lock_guard lock(state.mutex);
    if (--state.holds > 0) return;
    lines.swap(state.held);
    callback = state.callback;
  }
  if (!callback) return;
  for (const Line& line : lines) deliver(*callback, line.level, line.component, line.text);
}

}  // namespace ferry::runtime

namespace ferry {

void set_log_callback(LogCallback callback, LogLevel level) {
  auto& state = runtime::callback_state();
  std::shared_ptr<const LogCallback> next;
  if (callback) next = std::make_shared<const LogCallback>(std::move(callback));
  // The old function is destroyed after the lock is released: its destructor
  // is the user's code.
  std::lock_guard lock(state.mutex);
  runtime::callback_level = next ? static_cast<int>(level) : -1;
  state.callback.swap(next);
}

}  // namespace ferry
