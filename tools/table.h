// SPDX-License-Identifier: Apache-2.0
//
// Table: aligned columns of text for the terminal, and the few questions one
// asks about the terminal before printing.
#ifndef FERRY_TOOLS_TABLE_H
#define FERRY_TOOLS_TABLE_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ferry::tools {

/// No line of the command's tables is wider.
inline constexpr size_t kLineWidth = 100;

struct Column {
  enum class Kind {
    kText,    ///< to the left
    kNumber,  ///< to the right
    kLong     ///< to the left, and shortened where the line is too wide
  };
  std::string title;
  Kind kind = Kind::kText;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// One cell a column; control characters are replaced.
  void add(std::vector<std::string> cells);
  /// The title line and all rows, each ended by a newline.
  std::string str() const;

 private:
  std::vector<size_t> widths() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Characters of UTF-8 text.
size_t text_width(std::string_view text);
/// Text of a stranger (a plugin, a file) on one line without control characters.
std::string printable(std::string_view text);
/// `text` broken at spaces into lines that begin with `indent` spaces.
std::string wrapped(std::string_view text, size_t indent);
/// "15.6 GiB"; "-" for 0.
std::string bytes_text(uint64_t bytes);
/// `text` in bold where stdout is a terminal that wants it.
std::string headline(std::string_view text);
/// Whether stdout's locale is UTF-8.
bool locale_is_utf8();

}  // namespace ferry::tools

#endif  // FERRY_TOOLS_TABLE_H
