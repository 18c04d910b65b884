// SPDX-License-Identifier: Apache-2.0
//
// Loading checkpoints.
#ifndef FERRY_IO_LOAD_H
#define FERRY_IO_LOAD_H

#include <map>
#include <string>

#include "ferry/export.h"
#include "ferry/io/map_location.h"
#include "ferry/io/save.h"
#include "ferry/io/value.h"

namespace ferry {

/// Reads a checkpoint: a file of torch.save() (PyTorch 1.6 or newer) or a
/// safetensors file, whatever its name. Tensors that shared a storage share it
/// again, with their strides. Only the devices that tensors go to are opened;
/// each storage is copied from the mapped file straight to its device.
///
/// No code of the file is run: a pickle that names anything but tensors and
/// plain containers is refused. The file must not change meanwhile.
///
/// FileError: not such a file, damaged, incomplete, or holding something that
/// Ferry does not have; nothing stays allocated. UnavailableError: a device
/// that a tag names is not here and `map` gives no other. OutOfMemoryError.
FERRY_API io::Value load(const std::string& path, const MapLocation& map = {});

namespace io {

/// The `__metadata__` of a safetensors file; reads its header only. FileError
/// where it is no such file.
FERRY_API std::map<std::string, std::string> read_metadata(const std::string& path);

}  // namespace io
}  // namespace ferry

#endif  // FERRY_IO_LOAD_H
