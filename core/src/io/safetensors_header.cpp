// SPDX-License-Identifier: Apache-2.0
//
// Reading the header of a safetensors file and checking its sums.
#include "io/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "io/safetensors_json.h"

namespace ferry::io {

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

namespace {

constexpr std::string_view kSafeNames[kDTypeCount] = {"BOOL", "U8",  "I8",   "I16", "I32",
                                                      "I64",  "F16", "BF16", "F32", "F64"};

uint64_t header_length(const MappedFile& file) noexcept {
  uint64_t length = 0;
  std::memcpy(&length, file.bytes().data(), std::min<uint64_t>(sizeof length, file.size()));
  return length;
}

/// The bytes that shape and dtype need; nothing beyond 64 bits.
std::optional<uint64_t> bytes_of(const SafeTensor& tensor) noexcept {
  if (std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()) return 0;
  auto bytes = static_cast<int64_t>(item_size(tensor.dtype));
  for (const int64_t size : tensor.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) return std::nullopt;
  }
  return static_cast<uint64_t>(bytes);
}

/// The tensors fill the data one after the other.
void check_data(const MappedFile& file, const SafeHeader& header) {
  std::vector<const SafeTensor*> order;
  order.reserve(header.tensors.size());
  for (const SafeTensor& tensor : header.tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const SafeTensor* a, const SafeTensor* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t next = 0;
  for (const SafeTensor* tensor : order) {
    if (tensor->end < tensor->begin || bytes_of(*tensor) != tensor->end - tensor->begin) {
      file.fail(fmt::format("the tensor {} of {} {} cannot be the bytes {} to {}",
                            in_quotes(tensor->name), safe_name(tensor->dtype),
                            to_string(tensor->shape), tensor->begin, tensor->end));
    }
    if (tensor->begin != next) {
      file.fail(
          fmt::format("the tensor {} begins at byte {} of the data, where {} was to be next: "
                      "tensors overlap or leave a hole",
                      in_quotes(tensor->name), tensor->begin, next));
    }
    next = tensor->end;
  }
  const uint64_t held = header.data.size();
  if (next > held) {
    file.fail(
        fmt::format("its header promises {} bytes of data, of which {} are there; download "
                    "incomplete?",
                    next, held));
  }
  if (next < held) {
    file.fail(
        fmt::format("{} bytes follow after the {} that its header promises", held - next, next));
  }
}

}  // namespace

std::string_view safe_name(DType dtype) noexcept { return kSafeNames[static_cast<size_t>(dtype)]; }

std::optional<DType> safe_dtype(std::string_view name) noexcept {
  const auto* found = std::find(std::begin(kSafeNames), std::end(kSafeNames), name);
  if (found == std::end(kSafeNames)) return std::nullopt;
  return static_cast<DType>(found - std::begin(kSafeNames));
}

bool looks_like_safetensors(const MappedFile& file) noexcept {
  // A length with its upper bytes set is text or something else.
  return file.size() > kLengthBytes && file.bytes()[kLengthBytes] == std::byte{'{'} &&
         header_length(file) >> 40 == 0;
}

SafeHeader read_safe_header(const MappedFile& file) {
  const uint64_t length = header_length(file);
  if (!file.contains(kLengthBytes, length)) {
    file.fail(
        fmt::format("its header should have {} bytes, more than the file; download "
                    "incomplete? Or it is no safetensors file",
                    length));
  }
  SafeHeader header;
  header.data = file.bytes().subspan(kLengthBytes + length);
  const auto* text = reinterpret_cast<const char*>(file.bytes().data()) + kLengthBytes;
  SafeJsonHandler handler(header);
  if (!nlohmann::json::sax_parse(text, text + length, &handler)) {
    file.fail("its safetensors header is damaged: " + handler.error());
  }
  check_data(file, header);
  return header;
}

}  // namespace ferry::io
