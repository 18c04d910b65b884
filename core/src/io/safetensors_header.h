// SPDX-License-Identifier: Apache-2.0
//
// The header of a safetensors file, checked.
#ifndef FERRY_IO_SAFETENSORS_HEADER_H
#define FERRY_IO_SAFETENSORS_HEADER_H

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/tensor.h"
#include "io/mapped_file.h"

namespace ferry::io {

struct SafeTensor {
  std::string name;
  DType dtype = kF32;
  Shape shape;
  uint64_t begin = 0, end = 0;  ///< in the data
};

struct SafeHeader {
  std::vector<SafeTensor> tensors;  ///< in the header's order
  std::map<std::string, std::string> metadata;
  Bytes data;
};

/// Before the JSON text stands its length.
inline constexpr uint64_t kLengthBytes = 8;
/// A key of the metadata that begins so names a tensor; its value is the name
/// of the one that it is equal to.
inline constexpr std::string_view kAliasPrefix = "ferry.alias.";

/// Whether the file begins as one of safetensors.
bool looks_like_safetensors(const MappedFile& file) noexcept;
/// FileError where anything is wrong: the format's rules, sizes beyond the
/// file, dtypes that Ferry does not have.
SafeHeader read_safe_header(const MappedFile& file);

/// "F32", ... and back; nothing for other words.
std::string_view safe_name(DType dtype) noexcept;
std::optional<DType> safe_dtype(std::string_view name) noexcept;

}  // namespace ferry::io

#endif  // FERRY_IO_SAFETENSORS_HEADER_H
