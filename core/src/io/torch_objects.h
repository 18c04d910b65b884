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

namespace ferry::io {

struct ZipRecord;

struct TorchStorage {
  std::string key;
  DType dtype = kU8;  ///< u8 for one of bytes
  bool untyped = false;
  uint64_t bytes = 0;
  std::string tag;                    ///< the device that it was saved from
  const ZipRecord* record = nullptr;  ///< of a zip archive
  uint64_t begin = 0;                 ///< in a file without records
};

struct TorchTensor {
  uint32_t storage = 0;
  DType dtype = kF32;
  Shape shape, strides;
  int64_t offset = 0;
};

/// What the form of the file knows of its storages.
class TorchSource {
 public:
  virtual ~TorchSource() = default;
  /// Says where a storage's bytes are, once for each key. PickleError where they
  /// are absent or not as many.
  virtual void locate(TorchStorage& storage) = 0;
  /// A storage or tensor that stands before the pickle, by its number.
  virtual PickleObject numbered(int64_t number) const;
};

class TorchObjects : public PickleHost {
 public:
  explicit TorchObjects(TorchSource& source) : source_(source) {}

  const std::vector<TorchStorage>& storages() const noexcept { return storages_; }
  /// Each lies inside of its storage.
  const std::vector<TorchTensor>& tensors() const noexcept { return tensors_; }

  PickleObject import_global(std::string_view module, std::string_view name) override;
  PickleObject call(const PickleObjects& objects, PickleGlobal global,
                    const PickleTuple& arguments) override;
  PickleObject persistent(const PickleObjects& objects, const PickleObject& id) override;

  /// Null where there is no storage of that key.
  TorchStorage* find(const std::string& key) noexcept;
  /// What a pickle builds, of numbers that were read otherwise. PickleError where
  /// the key is known with another dtype or device, or a number does not fit.
  uint32_t add_storage(TorchStorage storage);
  uint32_t add_tensor(TorchTensor tensor);

  /// The storage class that a pickle names; PickleError for anything else.
  const TorchName& storage_class(const PickleObject& object) const;

  /// "torch.float32": how an imported name stands in the tree.
  std::string name_of(PickleGlobal global) const;

 private:
  PickleObject make_tensor(const PickleObjects& objects, const TorchName& function,
                           const PickleTuple& arguments);
  PickleObject make_storage(const PickleObjects& objects, const PickleTuple& id);
  PickleObject make_dict(const PickleObjects& objects, const TorchName& type,
                         const PickleTuple& arguments) const;
  PickleObject unwrap(const PickleObjects& objects, const TorchName& function,
                      const PickleTuple& arguments);
  const TorchName& class_of(const PickleObject& object, TorchRole role, TorchRole other) const;
  void check_inside(const TorchTensor& tensor) const;

  TorchSource& source_;
  std::vector<const TorchName*> globals_;
  std::vector<TorchStorage> storages_;
  std::unordered_map<std::string, uint32_t> keys_;
  std::vector<TorchTensor> tensors_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_TORCH_OBJECTS_H
