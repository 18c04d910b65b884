// SPDX-License-Identifier: Apache-2.0
//
// PickleWriter: a Value as a pickle of protocol 2, in the opcodes that PyTorch's
// own restricted reader takes.
#ifndef FERRY_IO_PICKLE_WRITER_H
#define FERRY_IO_PICKLE_WRITER_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ferry/io/value.h"

namespace ferry::io {

/// Where a tensor's elements are in the file.
struct StorageName {
  std::string key;
  std::string location;
  int64_t count = 0;   ///< elements of the storage
  int64_t offset = 0;  ///< of the tensor, in elements
};

class StorageNames {
 public:
  virtual ~StorageNames() = default;
  virtual StorageName name_of(const Tensor& tensor) = 0;
};

class PickleWriter {
 public:
  explicit PickleWriter(StorageNames& storages) : storages_(storages) {}

  /// The pickle. InvalidArgument for an undefined tensor, a text that is no
  /// UTF-8, or too many levels; the message has the place in the tree.
  std::string write(const Value& value);

 private:
  void put(const Value& value);
  void put_items(const Value& dict);
  void put_elements(const Value& sequence);
  void put_int(int64_t value);
  void put_float(double value);
  void put_text(std::string_view text);
  /// A text or name that comes again and again.
  void put_word(std::string_view text);
  void put_global(std::string_view name);
  void put_tensor(const Tensor& tensor);
  void put_sizes(ShapeRef sizes);
  uint32_t remember();
  void recall(uint32_t slot);
  template <class T>
  void raw(T value);
  [[noreturn]] void refuse(const std::string& reason) const;

  StorageNames& storages_;
  std::string out_;
  std::vector<std::string> path_;  ///< of keys, to the value at hand
  uint32_t slots_ = 0;
  std::map<std::string, uint32_t, std::less<>> words_, globals_;
  std::unordered_map<const void*, uint32_t> tensors_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_PICKLE_WRITER_H
