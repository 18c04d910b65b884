// SPDX-License-Identifier: Apache-2.0
//
// StorageLoader: brings a file's bytes into storages, in parts, with checksum
// and byte order seen to on the way; or lets a storage be the mapping itself.
#ifndef FERRY_IO_STORAGE_LOADER_H
#define FERRY_IO_STORAGE_LOADER_H

#include <array>
#include <memory>
#include <vector>

#include "ferry/io/load.h"
#include "io/mapped_file.h"
#include "io/storage_handle.h"
#include "io/zip_archive.h"
#include "runtime/device_state.h"

namespace ferry::io {

class StorageLoader {
 public:
  /// `total` bytes are to be loaded, for the progress.
  StorageLoader(std::shared_ptr<const MappedFile> file, const ReadOptions& options, uint64_t total);
  ~StorageLoader();
  StorageLoader(const StorageLoader&) = delete;
  StorageLoader& operator=(const StorageLoader&) = delete;

  /// Fresh storage with `contents`, which lie in the file. Items of `swap` > 1
  /// bytes are turned to the other byte order. `item` is what their address must
  /// be a multiple of. The copy may be under way on return; later uses through
  /// Ferry wait for it.
  StorageHandle load(runtime::DeviceState& device, Bytes contents, size_t item, size_t swap = 1);
  /// The same, of a record of a zip archive. FileError where its checksum is wrong.
  StorageHandle load(runtime::DeviceState& device, const ZipArchive& archive,
                     const ZipRecord& record, size_t item, size_t swap);

 private:
  StorageHandle mapped(runtime::DeviceState& cpu, Bytes contents);
  bool can_map(const runtime::DeviceState& device, Bytes contents, size_t item, size_t swap) const;
  /// Brings one part to a place of `storage`.
  void put(ferry::detail::Storage* storage, uint64_t offset, Bytes part, size_t swap);
  void tell(uint64_t bytes);

  static constexpr size_t kBuffers = 3;
  std::shared_ptr<const MappedFile> file_;
  const ReadOptions& options_;
  LoadProgress progress_;
  std::vector<std::byte> swapped_;
  /// Host memory that copies to a device leave from, in turn.
  std::array<StorageHandle, kBuffers> ring_;
  runtime::DeviceState* ring_device_ = nullptr;
  size_t next_ = 0;
};

}  // namespace ferry::io

#endif  // FERRY_IO_STORAGE_LOADER_H
