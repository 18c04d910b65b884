// SPDX-License-Identifier: Apache-2.0
//
// AtomicFile: a file that is there complete, or not at all.
#ifndef FERRY_IO_ATOMIC_FILE_H
#define FERRY_IO_ATOMIC_FILE_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace ferry::io {

/// Writes beside `path` under another name, which commit() changes. Without
/// commit(), the destructor removes what was written. All throw FileError.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// At the end of what was written so.
  void write(const void* data, size_t bytes);
  /// At a place of its own, which write() does not see.
  void write_at(uint64_t offset, const void* data, size_t bytes);
  /// Returns when the file would outlive a power cut.
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int error) const;

  std::string target_;  ///< the file itself, where `path` is a link
  std::string folder_;
  std::string temporary_;
  int fd_ = -1;
  uint64_t end_ = 0;
};

}  // namespace ferry::io

#endif  // FERRY_IO_ATOMIC_FILE_H
