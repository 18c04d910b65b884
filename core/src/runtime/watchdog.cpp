// SPDX-License-Identifier: Apache-2.0
//
// Reads FERRY_WATCHDOG_MS.
#include "runtime/watchdog.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include "ferry/error.h"

namespace ferry::runtime {

std::chrono::milliseconds watchdog_limit() {
  static const std::chrono::milliseconds limit = [] {
    const char* text = secure_getenv("FERRY_WATCHDOG_MS");
    if (text == nullptr || *text == '\0') return std::chrono::milliseconds(0);
    const std::string word = text;
    uint32_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) {
      throw InvalidArgument("FERRY_WATCHDOG_MS",
                            "'" + word + "' is no number of milliseconds; 0 turns it off");
    }
    return std::chrono::milliseconds(value);
  }();
  return limit;
}

}  // namespace ferry::runtime
