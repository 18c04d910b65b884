// SPDX-License-Identifier: Apache-2.0
//
// Module::to() and clone(): new tensors first, then one swap that cannot fail.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "ferry/error.h"
#include "nn/slots.h"
#include "tensor/tensor_impl.h"

namespace ferry::nn {
namespace {

using ferry::detail::Storage;
using ferry::detail::TensorImpl;

struct Target {
  std::optional<Device> device;
  std::optional<DType> dtype;  ///< of floating tensors
  bool copy = false;

  Tensor apply(const Tensor& tensor) const {
    const DType own = tensor.dtype();
    return tensor.to(device ? *device : tensor.device(),
                     dtype && is_floating_point(own) ? *dtype : own, {.copy = copy});
  }
};

/// The distinct tensors over one storage, in the order of the slots.
struct Group {
  std::string name;  ///< of the first, for messages
  std::vector<Tensor> tensors;
};

std::vector<Group> groups_of(const std::vector<Slot>& slots) {
  std::vector<Group> groups;
  std::map<std::pair<const Storage*, DType>, size_t> index;
  for (const Slot& slot : slots) {
    const TensorImpl& impl = *slot.tensor->impl();
    const auto [at, is_new] = index.try_emplace({impl.storage, impl.dtype}, groups.size());
    if (is_new) groups.push_back({slot.name, {}});
    std::vector<Tensor>& members = groups[at->second].tensors;
    const auto same = [&](const Tensor& t) { return t.is_same(*slot.tensor); };
    if (std::none_of(members.begin(), members.end(), same)) members.push_back(*slot.tensor);
  }
  return groups;
}

/// One new tensor for each of the group; those of one storage share one again.
std::vector<Tensor> relocate(const std::vector<Tensor>& tensors, const Target& target) {
  if (tensors.size() == 1) return {target.apply(tensors[0])};
  // What lies between the views moves along, as one row of elements.
  int64_t begin = std::numeric_limits<int64_t>::max();
  int64_t end = 0;
  for (const Tensor& t : tensors) {
    const ferry::detail::Span span = ferry::detail::span_of(*t.impl());
    if (span.begin == span.end) continue;
    begin = std::min(begin, span.begin);
    end = std::max(end, span.end);
  }
  begin = std::min(begin, end);
  const int64_t sizes[] = {end - begin};
  const int64_t strides[] = {1};
  const TensorImpl& first = *tensors[0].impl();
  const Tensor row =
      ferry::detail::make_view(first.storage, first.dtype, sizes, strides, begin, "to");
  const Tensor moved = target.apply(row);
  if (moved.is_same(row)) return tensors;
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) {
    const TensorImpl& impl = *t.impl();
    const int64_t offset = impl.numel == 0 ? 0 : impl.offset - begin;
    out.push_back(ferry::detail::make_view(moved.impl()->storage, moved.dtype(), impl.shape(),
                                           impl.strides(), moved.storage_offset() + offset, "to"));
  }
  return out;
}

using Moved = std::vector<std::pair<Tensor, Tensor>>;  // old, new

Moved relocate_all(const std::vector<Slot>& slots, const Target& target, const char* doing) {
  Moved moved;
  for (const Group& group : groups_of(slots)) {
    try {
      std::vector<Tensor> fresh = relocate(group.tensors, target);
      for (size_t i = 0; i < fresh.size(); ++i) {
        moved.emplace_back(group.tensors[i], std::move(fresh[i]));
      }
    } catch (const OutOfMemoryError& e) {
      throw OutOfMemoryError(std::string(e.what()) + " (" + doing + " '" + group.name + "' " +
                                 to_string(group.tensors[0].shape()) + "; the module is unchanged)",
                             e.requested, e.free, e.total, e.allocated, e.reserved);
    }
  }
  return moved;
}

void move(Module& module, const Target& target) {
  if (target.dtype && !is_floating_point(*target.dtype)) {
    throw InvalidArgument("Module::to", "a module is converted to floating dtypes only, not " +
                                            std::string(name(*target.dtype)));
  }
  for (const auto& [old, fresh] : relocate_all(slots_of(module), target, "moving")) {
    old.set_data(fresh);
  }
}

}  // namespace

Module& Module::to(const Device& device) {
  move(*this, {.device = device, .dtype = {}});
  return *this;
}

Module& Module::to(DType dtype) {
  move(*this, {.device = {}, .dtype = dtype});
  return *this;
}

Module& Module::to(const Device& device, DType dtype) {
  move(*this, {.device = device, .dtype = dtype});
  return *this;
}

void detail::unshare(Module& module) {
  const std::vector<Slot> slots = slots_of(module);
  const Target target{.device = {}, .dtype = {}, .copy = true};
  std::unordered_map<const TensorImpl*, Tensor> fresh;
  const Moved moved = relocate_all(slots, target, "cloning");
  for (const auto& [old, tensor] : moved) fresh.emplace(old.impl(), tensor);
  for (const Slot& slot : slots) *slot.tensor = fresh.at(slot.tensor->impl());
}

}  // namespace ferry::nn
