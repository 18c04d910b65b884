// SPDX-License-Identifier: Apache-2.0
//
// StateDict: named tensors in order, what a module gives and takes and what a
// checkpoint file holds.
#ifndef FERRY_STATE_DICT_H
#define FERRY_STATE_DICT_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ferry/tensor.h"

namespace ferry {

/// Ordered; names are unique. Values are handles: they share the module's
/// tensors.
class FERRY_API StateDict {
 public:
  using Item = std::pair<std::string, Tensor>;

  StateDict() = default;
  StateDict(std::initializer_list<Item> items);

  /// Adds or replaces.
  void set(std::string name, Tensor tensor);
  /// The tensor, or null where the name is absent.
  const Tensor* find(std::string_view name) const noexcept;
  /// InvalidArgument where the name is absent.
  const Tensor& at(std::string_view name) const;
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }

  /// The same tensors under names without, or with, `prefix`.
  StateDict strip_prefix(std::string_view prefix) const;
  StateDict add_prefix(std::string_view prefix) const;

 private:
  std::vector<Item> items_;
  std::vector<std::pair<size_t, size_t>> index_;  // hash of the name, position; in sorted runs
};

}  // namespace ferry

#endif  // FERRY_STATE_DICT_H
