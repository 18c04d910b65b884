// SPDX-License-Identifier: Apache-2.0
//
// How tables and texts are laid out for the terminal.
#include "table.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace ferry::tools {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kShortest = 12;  // a long column is not shortened below this

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }

// The first `width` characters of `text`, the last three being dots where some
// are left out.
std::string shortened(const std::string& text, size_t width) {
  if (text_width(text) <= width) return text;
  size_t count = 0, end = 0;
  while (end < text.size()) {
    if (begins_character(text[end]) && count++ == width - 3) break;
    ++end;
  }
  return text.substr(0, end) + "...";
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = text_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, text_width(row[c]));
    widths.push_back(width);
  }
  size_t line = std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1));
  // Shortens the widest of the long columns, one character at a time.
  while (line > kLineWidth) {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].kind != Column::Kind::kLong || widths[c] <= kShortest) continue;
      if (widest == columns_.size() || widths[c] > widths[widest]) widest = c;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --line;
  }
  return widths;
}

std::string Table::str() const {
  const std::vector<size_t> width = widths();
  std::string out;
  const auto add_line = [&](const auto& cell_of, bool title) {
    std::string line;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const std::string cell = shortened(cell_of(c), width[c]);
      const std::string padding(width[c] - text_width(cell), ' ');
      const bool right = columns_[c].kind == Column::Kind::kNumber;
      if (c > 0) line.append(kGap, ' ');
      line += right ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (title ? headline(line) : line) + "\n";
  };
  add_line([&](size_t c) -> const std::string& { return columns_[c].title; }, true);
  for (const auto& row : rows_) {
    add_line([&](size_t c) -> const std::string& { return row[c]; }, false);
  }
  return out;
}

size_t text_width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = c == '\n' || c == '\t' ? ' ' : '?';
  }
  return out;
}

std::string wrapped(std::string_view text, size_t indent) {
  const std::string clean = printable(text);
  std::string out, line;
  const auto finish = [&] {
    if (!line.empty()) out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  for (size_t at = 0; at < clean.size();) {
    const size_t end = std::min(clean.find(' ', at), clean.size());
    const std::string word = clean.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (indent + text_width(line) + 1 + text_width(word) > kLineWidth) finish();
    line += (line.empty() ? "" : " ") + word;
  }
  finish();
  return out;
}

std::string bytes_text(uint64_t bytes) {
  if (bytes == 0) return "-";
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string headline(std::string_view text) {
  static const bool kBold = [] {
    const char* terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr &&
           terminal != nullptr && std::string_view(terminal) != "dumb";
  }();
  return kBold ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
}

bool locale_is_utf8() { return std::string_view(nl_langinfo(CODESET)) == "UTF-8"; }

}  // namespace ferry::tools
