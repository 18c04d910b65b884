// SPDX-License-Identifier: Apache-2.0
//
// Whole files as bytes, and arrays out of them, with their sizes checked.
#include "bytes.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "ferry/error.h"

namespace ferry::data {

std::vector<uint8_t> read_file(const char* where, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    throw FileError(where, fmt::format("\"{}\" is not a file", path));
  const auto size = std::filesystem::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  if (error || !file) throw FileError(where, fmt::format("\"{}\" cannot be opened", path));
  std::vector<uint8_t> bytes(size);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (static_cast<uintmax_t>(file.gcount()) != size)
    throw FileError(where,
                    fmt::format("\"{}\" ended after {} of {} bytes", path, file.gcount(), size));
  return bytes;
}

Tensor array_of(const char* where, const std::string& path, const std::vector<uint8_t>& bytes,
                size_t offset, const Shape& shape, DType dtype, bool swap) {
  if (shape.size() > FERRY_MAX_DIMS)
    throw FileError(where, fmt::format("\"{}\" has {} dimensions; {} are possible", path,
                                       shape.size(), FERRY_MAX_DIMS));
  const size_t item = item_size(dtype), held = bytes.size() - offset;
  const bool none = std::find(shape.begin(), shape.end(), 0) != shape.end();
  size_t wanted = none ? 0 : item;
  for (const int64_t s : shape) {
    const auto side = static_cast<size_t>(s);
    if (!none && side > (held + item) / wanted + 1)
      throw FileError(where, fmt::format("\"{}\" is said to hold {} {}, and has {} bytes of data",
                                         path, name(dtype), to_string(shape), held));
    wanted *= none ? 1 : side;
  }
  if (wanted != held)
    throw FileError(where, fmt::format("\"{}\" is said to hold {} {}, {} bytes, and has {}", path,
                                       name(dtype), to_string(shape), wanted, held));
  Tensor out = empty(shape, {dtype, Device()});
  if (wanted == 0) return out;
  auto* to = static_cast<uint8_t*>(out.data_ptr());
  std::memcpy(to, bytes.data() + offset, wanted);
  if (swap && item > 1)
    for (size_t i = 0; i < wanted; i += item) std::reverse(to + i, to + i + item);
  return out;
}

}  // namespace ferry::data
