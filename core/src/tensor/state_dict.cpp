// SPDX-License-Identifier: Apache-2.0
//
// StateDict: an ordered dict whose index stays cheap for a million names.
#include "ferry/state_dict.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ferry/error.h"

namespace ferry {
namespace {

size_t hash_of(std::string_view name) noexcept { return std::hash<std::string_view>()(name); }

}  // namespace

// The index is a row of sorted runs whose lengths are the binary digits of its
// size, the longest first: adding merges equal runs, as a counter carries. So
// neither adding nor finding ever walks the whole index.

StateDict::StateDict(std::initializer_list<Item> items) {
  for (const Item& item : items) set(item.first, item.second);
}

void StateDict::set(std::string name, Tensor tensor) {
  if (const Tensor* found = find(name)) {
    *const_cast<Tensor*>(found) = std::move(tensor);  // of items_, which is not const here
    return;
  }
  const size_t hash = hash_of(name);
  const size_t size = items_.size();
  items_.emplace_back(std::move(name), std::move(tensor));
  index_.emplace_back(hash, size);
  for (size_t run = 1; (size & run) != 0; run *= 2) {
    const auto end = index_.end();
    const auto length = static_cast<std::ptrdiff_t>(run);
    std::inplace_merge(end - 2 * length, end - length, end);
  }
}

const Tensor* StateDict::find(std::string_view name) const noexcept {
  const size_t hash = hash_of(name);
  auto begin = index_.begin();
  for (size_t left = index_.size(); left > 0;) {
    size_t run = 1;
    while (run <= left / 2) run *= 2;
    const auto end = begin + static_cast<std::ptrdiff_t>(run);
    auto at = std::lower_bound(begin, end, std::pair<size_t, size_t>(hash, 0));
    for (; at != end && at->first == hash; ++at) {
      const Item& item = items_[at->second];
      if (item.first == name) return &item.second;
    }
    begin = end;
    left -= run;
  }
  return nullptr;
}

const Tensor& StateDict::at(std::string_view name) const {
  if (const Tensor* found = find(name)) return *found;
  std::string text = "there is no '" + std::string(name) + "' among the ";
  text += std::to_string(size()) + " names";
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < std::min(size(), kShown); ++i) {
    text += (i == 0 ? ": '" : ", '") + items_[i].first + "'";
  }
  throw InvalidArgument("StateDict", text + (size() > kShown ? ", ..." : ""));
}

StateDict StateDict::strip_prefix(std::string_view prefix) const {
  StateDict out;
  for (const auto& [name, tensor] : items_) {
    const bool has = name.starts_with(prefix);
    std::string stripped = has ? name.substr(prefix.size()) : name;
    if (out.contains(stripped)) {
      throw InvalidArgument(
          "strip_prefix",
          fmt::format("'{}' would become '{}', a name that is there already", name, stripped));
    }
    out.set(std::move(stripped), tensor);
  }
  return out;
}

StateDict StateDict::add_prefix(std::string_view prefix) const {
  StateDict out;
  for (const auto& [name, tensor] : items_) out.set(std::string(prefix) + name, tensor);
  return out;
}

}  // namespace ferry
