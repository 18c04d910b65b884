// SPDX-License-Identifier: Apache-2.0
//
// Headers of tar: blocks of 512 bytes, numbers in octal. Members with longer
// names than a header holds are not needed here and are passed over.
#include "io/tar_archive.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace ferry::io {
namespace {

constexpr uint64_t kBlock = 512;
constexpr size_t kNameBytes = 100;
constexpr size_t kSizeAt = 124, kSizeBytes = 12;
constexpr size_t kSumAt = 148, kSumBytes = 8;
constexpr size_t kTypeAt = 156;

/// Octal digits; or, with the highest bit set, a big-endian number.
std::optional<uint64_t> number(std::string_view field) {
  uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80) != 0) {
    for (size_t i = 0; i < field.size(); ++i) {
      const auto byte = static_cast<unsigned char>(field[i]);
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | (i == 0 ? byte & 0x7fu : byte);
    }
    return value;
  }
  field = field.substr(std::min(field.find_first_not_of(' '), field.size()));
  for (const char c : field) {
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    value = value << 3 | static_cast<uint64_t>(c - '0');
  }
  return value;
}

uint64_t sum_of(std::string_view header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    const bool in_sum = i >= kSumAt && i < kSumAt + kSumBytes;
    sum += in_sum ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

}  // namespace

std::map<std::string, Bytes> read_tar(const MappedFile& file) {
  std::map<std::string, Bytes> members;
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  uint64_t at = 0;
  for (; file.contains(at, kBlock);) {
    const std::string_view header = text.substr(at, kBlock);
    if (std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; })) return members;
    const auto sum = number(header.substr(kSumAt, kSumBytes));
    if (!sum || *sum != sum_of(header)) {
      file.fail(fmt::format("is a tar archive whose header at byte {} is damaged", at));
    }
    const std::string_view field = header.substr(0, kNameBytes);
    std::string name(field.substr(0, field.find('\0')));
    const auto size = number(header.substr(kSizeAt, kSizeBytes));
    at += kBlock;
    if (!size || !file.contains(at, *size)) {
      file.fail(
          fmt::format("is a tar archive whose member {} reaches beyond the file's end; "
                      "download incomplete?",
                      in_quotes(name)));
    }
    if (header[kTypeAt] == '0' || header[kTypeAt] == '\0') {
      if (!members.emplace(name, file.bytes().subspan(at, *size)).second) {
        file.fail(fmt::format("is a tar archive with two members {}", in_quotes(name)));
      }
    }
    at += (*size + kBlock - 1) / kBlock * kBlock;
  }
  file.fail("is a tar archive without its end; download incomplete?");
}

}  // namespace ferry::io
