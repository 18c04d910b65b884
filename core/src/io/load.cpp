// SPDX-License-Identifier: Apache-2.0
//
// load(): the content of a file, not its name, says what it is.
#include "ferry/io/load.h"

#include <algorithm>
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
  // The pickled number 0x1950a86a20f9469cfc6c, which opened files before 1.6.
  constexpr std::string_view kOldMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
  constexpr size_t kProtocolBytes = 2;
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  if (starts_with(file, "\x80"sv) && file.size() > kProtocolBytes &&
      text.substr(kProtocolBytes).starts_with(kOldMagic)) {
    file.fail(
        "was written in the form that PyTorch had before 1.6. Write it again in Python with a "
        "newer one: torch.save(torch.load(path, map_location='cpu'), new_path)");
  }
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
  const io::MappedFile file(path);
  if (starts_with(file, "PK\x03\x04"sv) || starts_with(file, "PK\x05\x06"sv)) {
    return io::read_torch_file(file, map);
  }
  if (io::looks_like_safetensors(file)) return io::read_safetensors_file(file, map);
  refuse(file);
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
