// SPDX-License-Identifier: Apache-2.0
//
// Check: one question that `ferry verify` puts to a plugin, and how its code
// says what came out.
#ifndef FERRY_TOOLS_VERIFY_CHECK_H
#define FERRY_TOOLS_VERIFY_CHECK_H

#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ferry::verify {

/// Thrown by a check: what was expected and what was seen, in one sentence.
struct Failed {
  std::string text;
};
/// Thrown by a check that says nothing of this plugin, with the reason.
struct NotApplicable {
  std::string text;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failed{fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
[[noreturn]] void not_applicable(fmt::format_string<Args...> format, Args&&... args) {
  throw NotApplicable{fmt::format(format, std::forward<Args>(args)...)};
}
/// Fails with the text where the condition does not hold.
template <class... Args>
void expect(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) fail(format, std::forward<Args>(args)...);
}

struct Check {
  std::string id;  ///< "memory.bounds"; up to the first point it is the level
  /// Runs in a process of its own on the plugin file; returns where all is well.
  std::function<void(const std::string& path)> run;
};

/// Remembers what is being done, for the text of a crash or a hang.
void step(const std::string& text);

// The checks of each level, in the order of the report.
std::vector<Check> load_checks();
std::vector<Check> memory_checks();
std::vector<Check> stream_checks();
std::vector<Check> process_checks();
/// Of the families, each as "map/1".
std::vector<Check> kernel_checks(const std::vector<std::string>& families);

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_CHECK_H
