// SPDX-License-Identifier: Apache-2.0
//
// Guessing from the first bytes what a user has downloaded instead.
#include "io/text.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace ferry::io {
namespace {

using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace)

struct Signature {
  std::string_view start;
  std::string_view words;
};

constexpr Signature kSignatures[] = {
    {"version https://git-lfs"sv,
     "a Git LFS pointer, not the file that it stands for; fetch that with 'git lfs pull'"sv},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file (Keras?)"sv},
    {"\x93NUMPY"sv, "a NumPy array"sv},
    {"GGUF"sv, "a GGUF file"sv},
    {"\x1f\x8b"sv, "a gzip file; unpack it first"sv},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file; unpack it first"sv},
    {"\xfd"
     "7zXZ"sv,
     "an xz file; unpack it first"sv},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7-Zip archive; unpack it first"sv},
    {"Rar!"sv, "a RAR archive; unpack it first"sv},
    {"%PDF"sv, "a PDF document"sv},
    {"\x89PNG"sv, "a PNG picture"sv},
    {"\x7f"
     "ELF"sv,
     "a program or shared library"sv},
    {"PTMF"sv, "a PyTorch mobile flatbuffer"sv},
};

std::string lower_start(std::string_view text) {
  size_t begin = 0;
  while (begin < text.size() && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
  std::string out(text.substr(begin, 32));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i++]);
    int more = 0;
    if (byte >= 0xf5 || (byte >= 0x80 && byte < 0xc2)) return false;
    if (byte >= 0xc2) more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
    for (; more > 0; --more, ++i) {
      if (i == text.size() || !is_continuation(text[i])) return false;
    }
  }
  return true;
}

std::string in_quotes(std::string_view text, size_t most) {
  const bool cut = text.size() > most;
  if (cut) {
    while (most > 0 && is_continuation(text[most])) --most;
    text = text.substr(0, most);
  }
  const bool utf8 = is_utf8(text);
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\'' || c == '\\')
      out += std::string("\\") + c;
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8))
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + (cut ? "...'" : "'");
}

std::string looks_like(Bytes start) {
  const std::string_view text(reinterpret_cast<const char*>(start.data()),
                              std::min<size_t>(start.size(), 512));
  if (text.empty()) return "an empty file";
  if (std::all_of(text.begin(), text.end(), [](char c) { return c == 0; })) {
    return "zeros, as a download leaves that reserved its room and did not go on";
  }
  const std::string lower = lower_start(text);
  if (lower.starts_with("<!doctype html") || lower.starts_with("<html") ||
      lower.starts_with("<head")) {
    return "an HTML page, as a site sends that wants a login or a click; open the address in a "
           "browser";
  }
  if (lower.starts_with("<?xml") || lower.starts_with("<error")) return "an XML text";
  for (const Signature& signature : kSignatures) {
    if (text.starts_with(signature.start)) return std::string(signature.words);
  }
  if (text.size() > 262 && text.substr(257).starts_with("ustar")) {
    return "a tar archive (of PyTorch before 0.2, or anything else); unpack it, or save it again "
           "with a newer PyTorch";
  }
  const auto is_text = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  };
  if (std::all_of(text.begin(), text.end(), is_text)) {
    return fmt::format("{} that begins {}", lower.starts_with("{") ? "a JSON text" : "a text",
                       in_quotes(text, 40));
  }
  std::string hex;
  for (const char c : text.substr(0, 8)) {
    hex += fmt::format("{}{:02x}", hex.empty() ? "" : " ", static_cast<unsigned char>(c));
  }
  return "something unknown that begins with the bytes " + hex;
}

}  // namespace ferry::io
