// SPDX-License-Identifier: Apache-2.0
//
// TreeBuilder: what a pickle built, as Values; each storage is read when its
// first tensor needs it.
#ifndef FERRY_IO_TREE_BUILDER_H
#define FERRY_IO_TREE_BUILDER_H

#include <cstdint>
#include <functional>
#include <vector>

#include "ferry/io/value.h"
#include "io/storage_handle.h"
#include "io/torch_file.h"

namespace ferry::io {

class TreeBuilder {
 public:
  /// Makes the storage of a number in the file's table.
  using ReadStorage = std::function<StorageHandle(const TorchStorage& storage)>;

  TreeBuilder(const TorchFile& torch, ReadStorage read);

  /// FileError where an object contains itself or is nested too deeply.
  Value build() { return build(torch_.root, 0); }

 private:
  enum class State : uint8_t { kNew, kBegun, kDone };

  Value build(Ref ref, int depth);
  Value make(const PickleObject& object, int depth);
  std::vector<Value> build_all(const std::vector<Ref>& refs, int depth);
  Value build_dict(const PickleDict& dict, int depth);
  Tensor tensor_of(const TorchTensor& tensor);
  Tensor tensor_of(const PickleStorage& part);
  ferry::detail::Storage* storage(uint32_t index);

  const TorchFile& torch_;
  const PickleObjects& objects_;
  ReadStorage read_;
  std::vector<Value> made_;
  std::vector<State> state_;
  std::vector<StorageHandle> storages_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_TREE_BUILDER_H
