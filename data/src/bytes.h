// SPDX-License-Identifier: Apache-2.0
//
// Whole files as bytes, and arrays out of them.
#ifndef FERRY_DATA_BYTES_H
#define FERRY_DATA_BYTES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/tensor.h"

namespace ferry::data {

/// FileError from `where` if there is no such file or it cannot be read.
std::vector<uint8_t> read_file(const char* where, const std::string& path);

/// A CPU tensor of the bytes from `offset` to the end, which must be as many as
/// `shape` asks for; FileError otherwise. `swap` turns the bytes of each element.
Tensor array_of(const char* where, const std::string& path, const std::vector<uint8_t>& bytes,
                size_t offset, const Shape& shape, DType dtype, bool swap);

}  // namespace ferry::data

#endif  // FERRY_DATA_BYTES_H
