// SPDX-License-Identifier: Apache-2.0
//
// TorchObjects: the storages and tensors that a checkpoint's pickle names,
// checked against the file's records before anything is allocated.
#ifndef FERRY_IO_TORCH_OBJECTS_H
#define FERRY_IO_TORCH_OBJECTS_H

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ferry/tensor.h"
#include "io/pickle_reader.h"
#include "io/torch_names.h"
#include "io/zip_archive.h"

namespace ferry::io {

struct TorchStorage {
  DType dtype = kU8;  ///< u8 for one of bytes
  bool untyped = false;
  uint64_t bytes = 0;
  std::string tag;  ///< the device that it was saved from
  const ZipRecord* record = nullptr;
};

struct TorchTensor {
  uint32_t storage = 0;
  DType dtype = kF32;
  Shape shape, strides;
  int64_t offset = 0;
};

class TorchObjects : public PickleHost {
 public:
  /// `prefix` is the archive's folder, with its slash.
  TorchObjects(const ZipArchive& archive, std::string prefix)
      : archive_(archive), prefix_(std::move(prefix)) {}

  const std::vector<TorchStorage>& storages() const noexcept { return storages_; }
  /// Each lies inside of its storage.
  const std::vector<TorchTensor>& tensors() const noexcept { return tensors_; }

  PickleObject import_global(std::string_view module, std::string_view name) override;
  PickleObject call(const PickleObjects& objects, PickleGlobal global,
                    const PickleTuple& arguments) override;
  PickleObject persistent(const PickleObjects& objects, const PickleTuple& id) override;

  /// "torch.float32": how an imported name stands in the tree.
  std::string name_of(PickleGlobal global) const;

 private:
  PickleObject make_tensor(const PickleObjects& objects, const TorchName& function,
                           const PickleTuple& arguments);
  PickleObject make_dict(const PickleObjects& objects, const TorchName& type,
                         const PickleTuple& arguments) const;
  PickleObject unwrap(const PickleObjects& objects, const TorchName& function,
                      const PickleTuple& arguments);
  const TorchName& class_of(const PickleObject& object, TorchRole role, TorchRole other) const;
  void check_inside(const TorchTensor& tensor) const;

  const ZipArchive& archive_;
  std::string prefix_;
  std::vector<const TorchName*> globals_;
  std::vector<TorchStorage> storages_;
  std::unordered_map<std::string, uint32_t> keys_;
  std::vector<TorchTensor> tensors_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_TORCH_OBJECTS_H
