// SPDX-License-Identifier: Apache-2.0
//
// ZipArchive: the records of a zip file, read from its mapping.
#ifndef FERRY_IO_ZIP_ARCHIVE_H
#define FERRY_IO_ZIP_ARCHIVE_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <unzip.h>

#include "io/mapped_file.h"

namespace ferry::io {

struct ZipRecord {
  std::string name;
  uint64_t size = 0;        ///< of its contents
  uint64_t compressed = 0;  ///< in the file
  uint32_t crc = 0;
  bool deflated = false;
  unz64_file_pos position{};
};

/// Knows after construction what is in the file; reads contents when asked.
class ZipArchive {
 public:
  /// Gets the contents, part by part.
  using Sink = std::function<void(Bytes part)>;

  /// FileError where the file is no whole zip archive, or one with compression
  /// methods, encryption or names that Ferry does not read.
  explicit ZipArchive(const MappedFile& file);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const std::vector<ZipRecord>& records() const noexcept { return records_; }
  /// Null where there is no such record.
  const ZipRecord* find(std::string_view name) const noexcept;

  /// Gives the contents to `sink` in parts of at most kPartBytes, all but the
  /// last of exactly that. Stored ones come straight from the mapping. Throws
  /// FileError, perhaps after some parts, where sizes or the checksum are wrong.
  void read(const ZipRecord& record, const Sink& sink) const;
  std::vector<std::byte> read(const ZipRecord& record) const;

  /// The contents of a record that is not compressed, where they lie in the file;
  /// the checksum is not looked at. Empty for a compressed one. FileError where
  /// they are not inside of the file.
  Bytes stored(const ZipRecord& record) const;

  static constexpr uint64_t kPartBytes = uint64_t{8} << 20;

 private:
  void add_records();
  ZipRecord current_record() const;
  void read_stored(const ZipRecord& record, const Sink& sink) const;
  void read_deflated(const ZipRecord& record, const Sink& sink) const;
  [[noreturn]] void damaged(const ZipRecord& record, const std::string& reason) const;

  /// What minizip reads from, and where it is.
  struct Source {
    const MappedFile* file;
    uint64_t cursor = 0;
  };
  friend struct SourceFunctions;

  const MappedFile& file_;
  Source source_{&file_};
  unzFile zip_ = nullptr;
  std::vector<ZipRecord> records_;
  std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_ZIP_ARCHIVE_H
