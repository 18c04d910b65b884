// SPDX-License-Identifier: Apache-2.0
//
// The grammar of device lists, "acme:0,2;other;!acme:1", as FERRY_VISIBLE_DEVICES
// and parse_devices() take it, and errors that point at a term.
#ifndef FERRY_RUNTIME_DEVICE_LIST_H
#define FERRY_RUNTIME_DEVICE_LIST_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ferry::runtime {

/// A part of the list's text.
struct Span {
  size_t begin = 0, end = 0;
};

/// What stands after a ':' and between commas.
struct ListItem {
  enum class By { kIndex, kUuid, kPci, kArch };
  By by = By::kIndex;
  int64_t first = 0, last = 0;  ///< kIndex: both included, saturated
  std::string text;             ///< of the others, without the key
  Span span;
};

/// What stands between semicolons.
struct ListTerm {
  bool exclude = false;         ///< begins with '!'
  std::string backend;          ///< a name or alias, or "all"
  std::vector<ListItem> items;  ///< none: every device of the backend
  Span span;                    ///< the whole term
  Span backend_span;
};

/// A list of the right form. No terms: it is "none" or empty.
struct DeviceList {
  std::string origin;  ///< who gave it: "FERRY_VISIBLE_DEVICES"
  std::string text;
  std::vector<ListTerm> terms;
};

/// InvalidArgument from `origin`, with the wrong part underlined.
DeviceList parse_device_list(std::string_view text, std::string_view origin);

/// `reason`, then the list's text on a line of its own, and under the part
/// `span` of it a line of '^'. A long text is cut around that part.
std::string underlined(std::string_view reason, std::string_view text, Span span);

/// Reads `digits`, saturating; returns what is wrong with them, or empty.
std::string read_index(std::string_view digits, int64_t* index);

/// `text` as it may stand in a message: short, and without control characters.
std::string printable(std::string_view text);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_DEVICE_LIST_H
