// SPDX-License-Identifier: Apache-2.0
//
// MappedFile: a regular file, mapped, and the one form in which
// everything about a file is refused.
#ifndef FERRY_IO_MAPPED_FILE_H
#define FERRY_IO_MAPPED_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>

#include "io/text.h"

namespace ferry::io {

class MappedFile {
 public:
  /// FileError where `path` cannot be opened, is no regular file, or is empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const noexcept { return path_; }
  Bytes bytes() const noexcept { return bytes_; }
  uint64_t size() const noexcept { return bytes_.size(); }
  /// `begin` + `count` may be anything.
  bool contains(uint64_t begin, uint64_t count) const noexcept {
    return begin <= size() && count <= size() - begin;
  }
  /// Lets go of the memory behind a part that was read.
  void drop(Bytes part) const noexcept;

  /// Throws FileError: the path, its size and `reason`.
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string path_;
  Bytes bytes_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_MAPPED_FILE_H
