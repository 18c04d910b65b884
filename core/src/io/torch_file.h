// SPDX-License-Identifier: Apache-2.0
//
// TorchFile: what a file of torch.save() says, checked, before a byte of its
// tensors is read; the same for all forms that PyTorch has written.
#ifndef FERRY_IO_TORCH_FILE_H
#define FERRY_IO_TORCH_FILE_H

#include <memory>
#include <string>

#include "io/mapped_file.h"
#include "io/torch_objects.h"
#include "io/zip_archive.h"

namespace ferry::io {

struct TorchFile {
  const MappedFile* file = nullptr;
  std::string form;                      ///< "PyTorch zip", ...
  std::string pickle_name = "data.pkl";  ///< in messages
  bool big_endian = false;
  std::unique_ptr<ZipArchive> archive;  ///< null for the older forms
  std::unique_ptr<TorchSource> source;
  std::unique_ptr<TorchObjects> table;
  PickleObjects objects;
  Ref root = 0;

  [[noreturn]] void fail(const std::string& reason) const {
    file->fail(pickle_name + ": " + reason);
  }
};

/// Whether the file begins as one of PyTorch 0.2 to 1.5, or as a tar archive of
/// before.
bool looks_like_legacy(const MappedFile& file) noexcept;
bool looks_like_tar(const MappedFile& file) noexcept;

/// `file` must outlive the result. FileError where anything is wrong.
TorchFile parse_torch_zip(const MappedFile& file);
TorchFile parse_torch_legacy(const MappedFile& file);
TorchFile parse_torch_tar(const MappedFile& file);

/// The stored bytes of a storage, where they lie in the file as they are.
/// Empty for one that is compressed.
Bytes stored_bytes(const TorchFile& torch, const TorchStorage& storage);

}  // namespace ferry::io

#endif  // FERRY_IO_TORCH_FILE_H
