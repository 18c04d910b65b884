// SPDX-License-Identifier: Apache-2.0
//
// Values and class names as PyTorch prints them.
#include "nn/repr.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>

namespace ferry::nn {

std::string repr(double value) {
  std::string text = fmt::format("{}", value);
  // Python marks whole numbers as floating ones.
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string tuple(const Pair& pair) { return fmt::format("({}, {})", pair[0], pair[1]); }

std::string repr(const Pair& pair) {
  return pair[0] == pair[1] ? std::to_string(pair[0]) : tuple(pair);
}

std::string class_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  std::string name = text != nullptr ? text.get() : type.name();
  // Template arguments have colons of their own.
  if (name.ends_with('>')) {
    size_t at = name.size() - 1;
    for (int open = 1; open > 0 && at > 0;) {
      --at;
      open += name[at] == '>' ? 1 : name[at] == '<' ? -1 : 0;
    }
    name.resize(at);
  }
  const size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

}  // namespace ferry::nn
