// SPDX-License-Identifier: Apache-2.0
//
// Reading of the IDX files: big-endian, a magic number, the sizes, the bytes.
#include "digits.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

#include "ferry/error.h"

namespace ferry::tools {
namespace {

constexpr float kBrightest = 16;  // of a pixel; the network takes 0 to 1
constexpr uint32_t kMostDigits = 1u << 20;
constexpr uint32_t kMostPixels = 1u << 10;  // along one side

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw FileError("read_digits", fmt::format("'{}' {}", file.string(), why));
}

// The bytes of an IDX file of unsigned bytes with `rank` dimensions, written
// to `sizes`.
std::vector<uint8_t> read_idx(const std::filesystem::path& file, std::span<uint32_t> sizes) {
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file, "cannot be opened; --data names the folder with the digits");
  const auto read_number = [&] {
    uint32_t number = 0;
    for (int i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(in.get());
    return number;
  };
  constexpr uint32_t kUnsignedBytes = 0x0800;
  if (read_number() != kUnsignedBytes + sizes.size() || !in) {
    refuse(file, fmt::format("is not an IDX file of bytes with {} dimensions", sizes.size()));
  }
  uint64_t total = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = read_number();
    const uint32_t most = i == 0 ? kMostDigits : kMostPixels;
    if (!in || sizes[i] == 0 || sizes[i] > most) {
      refuse(file, fmt::format("says {} for dimension {}; 1 to {} is allowed", sizes[i], i, most));
    }
    total *= sizes[i];
  }
  std::error_code error;
  const uint64_t expected = 4 + 4 * sizes.size() + total;
  if (const uint64_t there = std::filesystem::file_size(file, error); there != expected) {
    refuse(file, fmt::format("has {} bytes where its sizes need {}", there, expected));
  }
  std::vector<uint8_t> bytes(total);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(total));
  if (!in) refuse(file, "cannot be read to its end");
  return bytes;
}

}  // namespace

std::span<const uint8_t> Digits::picture(int64_t index) const {
  const auto size = static_cast<size_t>(height * width);
  return std::span(pixels).subspan(static_cast<size_t>(index) * size, size);
}

Tensor Digits::images() const {
  std::vector<float> values(pixels.size());
  std::transform(pixels.begin(), pixels.end(), values.begin(),
                 [](uint8_t pixel) { return static_cast<float>(pixel) / kBrightest; });
  return tensor(values, {count, 1, height, width});
}

Digits read_digits(const std::filesystem::path& folder) {
  const auto image_file = folder / "test-images.idx3-ubyte";
  const auto label_file = folder / "test-labels.idx1-ubyte";
  uint32_t sizes[3] = {}, label_count[1] = {};
  Digits digits;
  digits.pixels = read_idx(image_file, sizes);
  digits.labels = read_idx(label_file, label_count);
  if (sizes[0] != label_count[0]) {
    refuse(label_file, fmt::format("has {} labels for {} pictures", label_count[0], sizes[0]));
  }
  if (std::any_of(digits.labels.begin(), digits.labels.end(), [](uint8_t l) { return l > 9; })) {
    refuse(label_file, "has labels above 9");
  }
  digits.count = sizes[0];
  digits.height = sizes[1];
  digits.width = sizes[2];
  return digits;
}

std::filesystem::path digits_folder() {
  std::error_code error;
  const auto command = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto prefix = command.parent_path().parent_path();
  const auto installed = prefix / FERRY_DIGITS_INSTALLED;
  return std::filesystem::exists(installed, error) ? installed
                                                   : std::filesystem::path(FERRY_DIGITS_SOURCE);
}

}  // namespace ferry::tools
