// SPDX-License-Identifier: Apache-2.0
//
// Loading checkpoints.
#ifndef FERRY_IO_LOAD_H
#define FERRY_IO_LOAD_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ferry/export.h"
#include "ferry/io/map_location.h"
#include "ferry/io/save.h"
#include "ferry/io/value.h"

namespace ferry {

/// How far load() has come, in bytes of tensors.
struct LoadProgress {
  uint64_t done = 0;
  uint64_t total = 0;
};

struct ReadOptions {
  MapLocation map = {};
  /// Tensors that stay on the CPU are the file itself, mapped, where it holds
  /// them aligned and uncompressed: nothing is read before it is used, and what
  /// is written to them does not reach the file. Checksums are not verified then.
  /// The file must not be changed or made shorter while such tensors live: that
  /// ends the process, as with every mapped file. Others are copied as usual.
  bool mmap = false;
  /// Called on the calling thread after each part, the last time with done ==
  /// total unless the file shares parts. What it throws ends the loading.
  std::function<void(const LoadProgress&)> progress = {};
};

/// Reads a checkpoint, whatever its name: a file of torch.save() of any PyTorch
/// (zip archive; the form before 1.6; the tar archive before 0.2) or of
/// safetensors. Tensors that shared a storage share it again, with their strides.
/// Only the devices that tensors go to are opened; storages stream from the
/// mapped file to their devices, and the host holds at most a few parts of 8 MiB.
///
/// No code of the file is run: a pickle that names anything but tensors and
/// plain containers is refused. The file must not change meanwhile.
///
/// FileError: not such a file, damaged, incomplete, or holding something that
/// Ferry does not have; nothing stays allocated. UnavailableError: a device
/// that a tag names is not here and `map` gives no other. OutOfMemoryError.
FERRY_API io::Value load(const std::string& path, const MapLocation& map = {});
FERRY_API io::Value load(const std::string& path, const ReadOptions& options);

namespace io {

/// The `__metadata__` of a safetensors file; reads its header only. FileError
/// where it is no such file.
FERRY_API std::map<std::string, std::string> read_metadata(const std::string& path);

}  // namespace io
}  // namespace ferry

#endif  // FERRY_IO_LOAD_H
