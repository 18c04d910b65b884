// SPDX-License-Identifier: Apache-2.0
//
// ZipWriter: a zip archive of stored, aligned records, as PyTorch maps them.
#ifndef FERRY_IO_ZIP_WRITER_H
#define FERRY_IO_ZIP_WRITER_H

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <zip.h>

#include "io/atomic_file.h"
#include "io/text.h"

namespace ferry::io {

/// Writes into a file that the caller commits afterwards. All throw FileError.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file);
  ~ZipWriter();
  ZipWriter(const ZipWriter&) = delete;
  ZipWriter& operator=(const ZipWriter&) = delete;

  /// A record of `size` bytes, which the calls of write() until the next record
  /// bring. Its contents begin at a multiple of kAlignment.
  void begin(const std::string& name, uint64_t size);
  void write(Bytes part);
  void add(const std::string& name, Bytes contents);
  /// Ends the last record and writes the directory.
  void finish();

  static constexpr uint64_t kAlignment = 64;

 private:
  /// The file functions of minizip; `stream` is this.
  struct Functions;

  void end_record();
  void append(const void* data, size_t bytes);
  void flush();
  void check(int status) const;

  AtomicFile& file_;
  zipFile zip_ = nullptr;
  bool open_ = false;
  uint64_t cursor_ = 0, end_ = 0;
  /// Of small pieces that follow each other, which begin at buffer_at_.
  std::vector<std::byte> buffer_;
  uint64_t buffer_at_ = 0;
  std::exception_ptr error_;  ///< of a file function; C code cannot be thrown through
};

}  // namespace ferry::io

#endif  // FERRY_IO_ZIP_WRITER_H
