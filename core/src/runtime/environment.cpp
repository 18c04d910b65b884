// SPDX-License-Identifier: Apache-2.0
//
// Reads the variables once, and notices that a program set one too late.
#include "runtime/environment.h"

#include <atomic>
#include <cstdlib>

#include <fmt/format.h>

#include "runtime/device_list.h"
#include "runtime/log.h"

namespace ferry::runtime {
namespace {

constexpr std::array<const char*, Environment::kVariables> kNames = {
    "FERRY_DEVICE", "FERRY_VISIBLE_DEVICES", "FERRY_PLUGIN_PATH", "FERRY_LAYERS"};

std::string in_words(const std::optional<std::string>& value) {
  return value ? fmt::format("'{}'", printable(*value)) : "unset";
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

Environment::Environment() {
  for (size_t i = 0; i < kVariables; ++i) values_[i] = environment_variable(kNames[i]);
}

void Environment::warn_of_changes() const {
  if (!log_enabled(LogLevel::kWarn)) return;
  static std::array<std::atomic_flag, kVariables> said;
  for (size_t i = 0; i < kVariables; ++i) {
    if (said[i].test(std::memory_order_relaxed)) continue;
    const std::optional<std::string> now = environment_variable(kNames[i]);
    if (now == values_[i] || said[i].test_and_set()) continue;
    log(LogLevel::kWarn, "runtime",
        fmt::format("{} is {} now, but was {} when the plugins were loaded, and that remains in "
                    "force: set it before the first use of a device",
                    kNames[i], in_words(now), in_words(values_[i])));
  }
}

}  // namespace ferry::runtime
