// SPDX-License-Identifier: Apache-2.0
//
// Loading and saving checkpoints.
#ifndef FERRY_IO_LOAD_H
#define FERRY_IO_LOAD_H

#include <map>
#include <string>

#include "ferry/export.h"
#include "ferry/io/map_location.h"
#include "ferry/io/value.h"
#include "ferry/state_dict.h"

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

/// Writes a safetensors file that replaces `path` only when it is complete.
/// Tensors may be on any device. Equal views of one storage (tied weights) are
/// stored once and are one tensor again after load(); other views are stored
/// as contiguous tensors of their own.
///
/// InvalidArgument: an undefined tensor, a name or text that is no UTF-8, or
/// metadata whose key begins with "ferry.alias."; names beyond what other
/// readers accept. FileError: the file cannot be written; nothing is left.
FERRY_API void save_safetensors(const StateDict& state, const std::string& path,
                                const std::map<std::string, std::string>& metadata = {});
/// The same, without metadata.
FERRY_API void save(const StateDict& state, const std::string& path);

namespace io {

/// The `__metadata__` of a safetensors file; reads its header only. FileError
/// where it is no such file.
FERRY_API std::map<std::string, std::string> read_metadata(const std::string& path);

}  // namespace io
}  // namespace ferry

#endif  // FERRY_IO_LOAD_H
