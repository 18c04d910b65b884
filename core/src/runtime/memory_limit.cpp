// SPDX-License-Identifier: Apache-2.0
//
// Reads FERRY_MEMORY_LIMIT.
#include "runtime/memory_limit.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "ferry/error.h"

namespace ferry::runtime {
namespace {

[[noreturn]] void refuse(std::string_view entry) {
  throw InvalidArgument(
      "FERRY_MEMORY_LIMIT",
      "'" + std::string(entry) + "' is not of the form device=size, such as sim:0=64M or cpu=2G");
}

/// "64M" in bytes.
uint64_t parse_size(std::string_view text, std::string_view entry) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  int shift = 0;
  if (unit == "K")
    shift = 10;
  else if (unit == "M")
    shift = 20;
  else if (unit == "G")
    shift = 30;
  else if (!unit.empty())
    refuse(entry);
  if (error != std::errc() || value == 0 || value > (uint64_t{1} << 62) >> shift) refuse(entry);
  return value << shift;
}

}  // namespace

uint64_t memory_limit_from_environment(const Device& device) {
  const char* set = secure_getenv("FERRY_MEMORY_LIMIT");
  if (set == nullptr) return 0;
  uint64_t limit = 0;
  std::string_view rest = set;
  while (!rest.empty()) {
    const size_t end = rest.find(';');
    const std::string_view entry = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) refuse(entry);
    const std::string_view name = entry.substr(0, equals);
    const uint64_t size = parse_size(entry.substr(equals + 1), entry);
    if (name == device.str() || name == device.type()) limit = size;
  }
  return limit;
}

}  // namespace ferry::runtime
