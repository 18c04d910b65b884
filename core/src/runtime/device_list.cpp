// SPDX-License-Identifier: Apache-2.0
//
// Splitting a device list into terms and items, strictly.
#include "runtime/device_list.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ferry/error.h"
#include "runtime/load_plugin.h"

namespace ferry::runtime {
namespace {

constexpr int64_t kAbsurdIndex = 999999999;
/// More of a value than this is cut away around the part that is meant.
constexpr size_t kMaxShown = 240;

class ListParser {
 public:
  ListParser(std::string_view text, std::string_view origin) : text_(text) {
    list_.text = text;
    list_.origin = origin;
  }

  DeviceList parse() {
    if (text_.empty() || text_ == "none") return std::move(list_);
    for (size_t begin = 0; begin <= text_.size();) {
      const size_t end = std::min(text_.find(';', begin), text_.size());
      add_term({begin, end});
      begin = end + 1;
    }
    return std::move(list_);
  }

 private:
  std::string_view at(Span span) const { return text_.substr(span.begin, span.end - span.begin); }

  [[noreturn]] void refuse(Span span, const std::string& reason) const {
    throw InvalidArgument(list_.origin, underlined(reason, text_, span));
  }

  void add_term(Span span) {
    if (span.begin == span.end) refuse(span, "a term is missing between two ';' or at an end");
    const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
    const std::string_view all = at(span);
    if (const auto* space = std::find_if(all.begin(), all.end(), is_space); space != all.end()) {
      const size_t position = span.begin + static_cast<size_t>(space - all.begin());
      refuse({position, position + 1}, "a list has no spaces; take this one out");
    }
    ListTerm term;
    term.span = span;
    term.exclude = all[0] == '!';
    term.backend_span = {span.begin + (term.exclude ? 1 : 0),
                         std::min(text_.find(':', span.begin), span.end)};
    read_backend(term);
    if (term.backend_span.end < span.end) read_items(term, {term.backend_span.end + 1, span.end});
    list_.terms.push_back(std::move(term));
  }

  void read_backend(ListTerm& term) const {
    const std::string_view name = at(term.backend_span);
    const bool has_items = term.backend_span.end < term.span.end;
    if (name.empty()) refuse(term.span, "there is no backend here");
    if (name == "all" && !term.exclude && !has_items) {
      term.backend = name;
      return;
    }
    if (name == "none") refuse(term.span, "'none' stands alone, without other terms");
    if (name == "all") {
      refuse(term.span, term.exclude ? "to have no accelerator, write 'none'"
                                     : "'all' takes no index; name the backend");
    }
    if (is_reserved_name(name)) {
      refuse(term.backend_span,
             fmt::format("'{}' is no backend, and a list names devices by theirs", name));
    }
    if (!is_backend_name(name)) {
      const bool index = std::all_of(name.begin(), name.end(),
                                     [](char c) { return (c >= '0' && c <= '9') || c == ','; });
      refuse(term.backend_span,
             index ? "an index needs its backend, as in 'acme:0,2'; between backends stands ';'"
                   : "a backend is made of a-z, 0-9 and '_' with a letter first; between backends "
                     "stands ';'");
    }
    term.backend = name;
  }

  void read_items(ListTerm& term, Span span) const {
    for (size_t begin = span.begin; begin <= span.end;) {
      const size_t end = std::min(text_.find(',', begin), span.end);
      term.items.push_back(read_item({begin, end}));
      begin = end + 1;
    }
  }

  ListItem read_item(Span span) const {
    ListItem item;
    item.span = span;
    const std::string_view text = at(span);
    if (text.empty()) refuse(span, "an index is missing after the ':' or a ','");
    if (const size_t equals = text.find('='); equals != std::string_view::npos) {
      const std::string_view key = text.substr(0, equals);
      item.text = text.substr(equals + 1);
      item.by = key == "uuid"  ? ListItem::By::kUuid
                : key == "pci" ? ListItem::By::kPci
                               : ListItem::By::kArch;
      if (item.by == ListItem::By::kArch && key != "arch") {
        refuse(span, "a device is chosen by uuid=, pci= or arch=, or by its index");
      }
      if (item.text.empty()) refuse(span, "there is nothing after the '='");
      return item;
    }
    // Neither a sign nor a UUID without its key is a range.
    const bool number = text[0] >= '0' && text[0] <= '9';
    const size_t dash = number ? text.find('-') : std::string_view::npos;
    std::string fault = read_index(text.substr(0, dash), &item.first);
    item.last = item.first;
    if (fault.empty() && dash != std::string_view::npos) {
      fault = read_index(text.substr(dash + 1), &item.last);
      if (fault.empty() && item.last < item.first) {
        fault = fmt::format("the range runs backwards; write {}-{}", item.last, item.first);
      }
    }
    if (!fault.empty()) {
      refuse(span, fault +
                       "; an index is a number, a range as in '0-3', or one of uuid=, pci= and "
                       "arch= with its value");
    }
    return item;
  }

  std::string_view text_;
  DeviceList list_;
};

}  // namespace

DeviceList parse_device_list(std::string_view text, std::string_view origin) {
  return ListParser(text, origin).parse();
}

std::string underlined(std::string_view reason, std::string_view text, Span span) {
  std::string shown;
  for (const char c : text) {
    // One column a byte, so that the marks stand where they should.
    const auto byte = static_cast<unsigned char>(c);
    shown += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  span.end = std::min(span.end, span.begin + kMaxShown / 2);
  if (shown.size() > kMaxShown) {
    const size_t begin = span.begin > kMaxShown / 4 ? span.begin - kMaxShown / 4 : 0;
    const bool cut = begin + kMaxShown < shown.size();
    shown = (begin > 0 ? "..." : "") + shown.substr(begin, kMaxShown) + (cut ? "..." : "");
    const size_t shift = begin - (begin > 0 ? 3 : 0);
    span = {span.begin - shift, span.end - shift};
  }
  return fmt::format("{}\n  {}\n  {}{}", reason, shown, std::string(span.begin, ' '),
                     std::string(std::max<size_t>(span.end - span.begin, 1), '^'));
}

std::string read_index(std::string_view digits, int64_t* index) {
  if (digits.empty()) return "there is no index";
  if (digits[0] == '-' || digits[0] == '+') return "the index has a sign";
  int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return fmt::format("the index '{}' is no number", printable(digits));
    value = std::min(value * 10 + (c - '0'), kAbsurdIndex);
  }
  if (digits.size() > 1 && digits[0] == '0') return "the index has a leading zero";
  *index = value;
  return "";
}

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 64));
  for (char& c : result) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text.size() > 64 ? result + "..." : result;
}

}  // namespace ferry::runtime
