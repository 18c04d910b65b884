// SPDX-License-Identifier: Apache-2.0
//
// The words of FERRY_LAYERS.
#include <algorithm>

#include <fmt/format.h>

#include "ferry/error.h"
#include "runtime/layers/start.h"

namespace ferry::runtime::layers {
namespace {

/// In the order of before(). The check comes first, so that nothing else sees a
/// wrong call; the trace last, so that it times the plugin alone.
constexpr const char* kWords[] = {"validate", "leaks", "sync", "trace"};

std::string_view trimmed(std::string_view word) {
  const size_t begin = word.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return word.substr(begin, word.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

std::vector<std::string> parse(std::string_view list) {
  std::vector<std::string_view> asked;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view word = trimmed(list.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) continue;
    if (std::find(std::begin(kWords), std::end(kWords), word) == std::end(kWords)) {
      throw InvalidArgument("FERRY_LAYERS",
                            fmt::format("'{}' is no layer; a comma stands between those wanted of "
                                        "validate, trace, leaks, sync",
                                        word));
    }
    asked.push_back(word);
  }
  std::vector<std::string> out;
  for (const char* word : kWords) {
    if (std::find(asked.begin(), asked.end(), word) != asked.end()) out.emplace_back(word);
  }
  return out;
}

}  // namespace ferry::runtime::layers
