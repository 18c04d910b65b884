// SPDX-License-Identifier: Apache-2.0
//
// Saving checkpoints. A file is there complete or not at all: it is written
// beside its place and renamed.
#ifndef FERRY_IO_SAVE_H
#define FERRY_IO_SAVE_H

#include <map>
#include <optional>
#include <string>

#include "ferry/export.h"
#include "ferry/io/value.h"
#include "ferry/state_dict.h"

namespace ferry {

struct TorchSaveOptions {
  /// Of a storage of which tensors use a part only, write the range that they
  /// use. By default all of it is written, as PyTorch does.
  bool compact = false;
  /// The device that the file says the tensors were on ("cpu", "acme:1"). By
  /// default each one's own. PyTorch needs a map_location for devices that it
  /// does not know or does not find.
  std::optional<std::string> location = {};
};

/// Writes a file that torch.load() reads, with weights_only=True as well, from
/// PyTorch 1.6 on. Tensors may be on any device and keep their strides; those
/// that share a storage share it again after loading, and one tensor in two
/// places is one tensor. Contents are 64-byte aligned, with checksums, and the
/// same bytes come from the same value. A storage that is viewed with two dtypes
/// is written once for each.
///
/// InvalidArgument: an undefined tensor, a text that is no UTF-8, more than 200
/// levels. FileError: the file cannot be written; nothing is left and a file of
/// that name is as it was. A storage of which less than a tenth is used gives a
/// warning in the log unless `compact`.
FERRY_API void save_torch(const io::Value& value, const std::string& path,
                          const TorchSaveOptions& options = {});
FERRY_API void save_torch(const StateDict& state, const std::string& path,
                          const TorchSaveOptions& options = {});

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

/// save_torch() where `path` ends in .pt, .pth, .ckpt or .bin, and
/// save_safetensors() otherwise.
FERRY_API void save(const StateDict& state, const std::string& path);

}  // namespace ferry

#endif  // FERRY_IO_SAVE_H
