// SPDX-License-Identifier: Apache-2.0
//
// How a file's own words stand in a message: bytes, not trusted.
#ifndef FERRY_IO_TEXT_H
#define FERRY_IO_TEXT_H

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ferry::io {

using Bytes = std::span<const std::byte>;

/// The text in single quotes, cut at `most` bytes; control characters, and bytes
/// that are no UTF-8, are escaped.
std::string in_quotes(std::string_view text, size_t most = 120);

/// Whether every character has the number of bytes that its first one says.
bool is_utf8(std::string_view text) noexcept;

/// What a file that begins with `start` looks like: "an HTML page", "a Git LFS
/// pointer (...)". Never empty.
std::string looks_like(Bytes start);

}  // namespace ferry::io

#endif  // FERRY_IO_TEXT_H
