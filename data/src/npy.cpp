// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy: a magic word, a header that is written as a Python dictionary of
// three entries, and the elements.
#include <algorithm>
#include <bit>
#include <charconv>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "bytes.h"
#include "ferry/data/files.h"
#include "ferry/error.h"

namespace ferry::data {
namespace {

constexpr const char* kWhere = "read_npy";

struct Header {
  std::string descr;
  bool fortran = false;
  Shape shape;
};

/// Reads the dictionary from left to right and nothing else.
class HeaderReader {
 public:
  HeaderReader(const std::string& path, std::string_view text) : path_(path), text_(text) {}

  Header read() {
    Header out;
    bool descr = false, fortran = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        if (peek() != '\'' && peek() != '"') fail("it has records of several fields");
        out.descr = quoted();
      } else if (key == "fortran_order" && !fortran) {
        fortran = true;
        out.fortran = accept_word("True");
        if (!out.fortran && !accept_word("False")) fail("fortran_order is neither True nor False");
      } else if (key == "shape" && !shape) {
        shape = true;
        out.shape = sizes();
      } else {
        fail("it has an unknown or second entry '" + key.substr(0, 40) + "'");
      }
      if (!accept(',') && peek() != '}') fail("a comma is missing");
    }
    if (!descr || !fortran || !shape) fail("descr, fortran_order or shape is missing");
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw FileError(kWhere, fmt::format("the header of \"{}\" is wrong: {}", path_, what));
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("'{}' is missing at byte {}", c, at_));
  }
  bool accept_word(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(fmt::format("no string at byte {}", at_));
    const size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) fail("a string does not end");
    std::string out(text_.substr(at_, end - at_));
    at_ = end + 1;
    return out;
  }
  Shape sizes() {
    Shape out;
    expect('(');
    while (!accept(')')) {
      peek();
      int64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("a size is no number from 0 on");
      at_ += static_cast<size_t>(end - begin);
      out.push_back(size);
      if (!accept(',') && peek() != ')') fail("the shape does not end");
    }
    return out;
  }

  const std::string& path_;
  std::string_view text_;
  size_t at_ = 0;
};

DType dtype_of_descr(const std::string& path, const std::string& descr) {
  static constexpr std::pair<const char*, DType> kKnown[] = {
      {"b1", kBool}, {"u1", kU8},  {"i1", kI8},  {"i2", kI16}, {"i4", kI32},
      {"i8", kI64},  {"f2", kF16}, {"f4", kF32}, {"f8", kF64}};
  if (!descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    for (const auto& [code, dtype] : kKnown)
      if (descr.substr(1) == code) return dtype;
  }
  throw FileError(kWhere,
                  fmt::format("\"{}\" holds elements '{}', which Ferry has no dtype for; convert "
                              "them with astype() before saving",
                              path, descr.substr(0, 40)));
}

}  // namespace

Tensor read_npy(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(kWhere, path);
  static constexpr std::string_view kMagic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || bytes.size() < 10)
    throw FileError(kWhere, fmt::format("\"{}\" does not begin as a .npy file", path));
  const uint8_t version = bytes[6];
  const size_t head = version == 1 ? 10 : 12;
  if (version < 1 || version > 3 || bytes.size() < head)
    throw FileError(kWhere, fmt::format("\"{}\" is cut off or of the unknown format {}.{}", path,
                                        version, bytes[7]));
  size_t length = bytes[8] | size_t{bytes[9]} << 8;
  if (version > 1) length |= size_t{bytes[10]} << 16 | size_t{bytes[11]} << 24;
  if (length > bytes.size() - head)
    throw FileError(kWhere, fmt::format("\"{}\" ends in its header of {} bytes", path, length));
  Header header = HeaderReader(path, text.substr(head, length)).read();
  const DType dtype = dtype_of_descr(path, header.descr);
  const bool big = header.descr[0] == '>';
  if (header.fortran) std::reverse(header.shape.begin(), header.shape.end());
  Tensor out = array_of(kWhere, path, bytes, head + length, header.shape, dtype,
                        big == (std::endian::native == std::endian::little));
  if (!header.fortran || out.dim() < 2) return out;
  Shape order(static_cast<size_t>(out.dim()));
  std::iota(order.rbegin(), order.rend(), int64_t{0});
  return out.permute(order);
}

}  // namespace ferry::data
