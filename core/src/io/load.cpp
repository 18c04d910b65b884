// SPDX-License-Identifier: Apache-2.0
//
// load(): the content of a file, not its name, says what it is.
#include "ferry/io/load.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "io/mapped_file.h"
#include "io/safetensors_header.h"
#include "io/safetensors_reader.h"
#include "io/torch_reader.h"

namespace ferry {
namespace {

using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace)

bool starts_with(const io::MappedFile& file, std::string_view start) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  return text.starts_with(start);
}

/// Says what the file is instead of a checkpoint.
[[noreturn]] void refuse(const io::MappedFile& file) {
  if (starts_with(file, "\x80"sv) && file.size() > 1 && file.bytes()[1] <= std::byte{5}) {
    file.fail(
        "is a bare Python pickle, which could run code, and not a file of torch.save(); if you "
        "trust it, load it in Python and save its tensors with torch.save()");
  }
  constexpr size_t kShown = 512;
  file.fail("is neither a file of torch.save() nor a safetensors file; it looks like " +
            io::looks_like(file.bytes().first(std::min<size_t>(kShown, file.size()))));
}

}  // namespace

io::Value load(const std::string& path, const MapLocation& map) {
  ReadOptions options;
  options.map = map;
  return load(path, options);
}

io::Value load(const std::string& path, const ReadOptions& options) {
  const auto file = std::make_shared<const io::MappedFile>(path);
  if (starts_with(*file, "PK\x03\x04"sv) || starts_with(*file, "PK\x05\x06"sv) ||
      io::looks_like_legacy(*file) || io::looks_like_tar(*file)) {
    return io::read_torch_file(file, options);
  }
  if (io::looks_like_safetensors(*file)) return io::read_safetensors_file(file, options);
  refuse(*file);
}

namespace io {

std::map<std::string, std::string> read_metadata(const std::string& path) {
  const MappedFile file(path);
  if (!looks_like_safetensors(file)) {
    file.fail("has no metadata to read, for it is no safetensors file; it looks like " +
              looks_like(file.bytes().first(std::min<size_t>(512, file.size()))));
  }
  return read_safe_header(file).metadata;
}

}  // namespace io
}  // namespace ferry
