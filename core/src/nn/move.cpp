// SPDX-License-Identifier: Apache-2.0
//
// Module::to() and clone(): all copies are begun, waited for once, and then one
// swap follows that cannot fail.
#include <algorithm>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "ferry/error.h"
#include "ferry/stream.h"
#include "nn/move_together.h"
#include "nn/slots.h"
#include "ops/move.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry::nn {
namespace {

using ferry::detail::Storage;
using ferry::detail::TensorImpl;
using runtime::DeviceState;
using runtime::StreamState;

struct Target {
  std::optional<Device> device;
  std::optional<DType> dtype;  ///< of floating tensors
  bool copy = false;

  Tensor apply(const Tensor& tensor) const {
    const DType own = tensor.dtype();
    return ops::begin_to(tensor, device ? *device : tensor.device(),
                         dtype && is_floating_point(own) ? *dtype : own, copy);
  }
};

/// The streams that the copies of a move are on. In a program with several
/// streams the move has one of its own on its target, so that it overlaps with
/// the program's work; where there is one only, a second would make every later
/// operation record its uses.
class Journey {
 public:
  explicit Journey(const std::optional<Device>& target) {
    if (!target) return;
    DeviceState& state = DeviceState::get(*target);
    if (state.many_streams() && !state.synchronous()) aside_.emplace(Stream(*target));
    add(state);
  }
  ~Journey() {
    try {
      finish();
    } catch (const Error&) {
      // Another error is on its way already.
    }
  }
  Journey(const Journey&) = delete;
  Journey& operator=(const Journey&) = delete;

  void add(const Tensor& tensor) { add(*tensor.impl()->storage->device); }

  /// Blocks until everything is done, also where an error is thrown: the first.
  void finish() {
    std::exception_ptr first;
    for (StreamState* stream : std::exchange(streams_, {})) {
      try {
        stream->synchronize();
      } catch (const Error&) {
        if (first == nullptr) first = std::current_exception();
      }
    }
    if (first != nullptr) std::rethrow_exception(first);
  }

 private:
  void add(DeviceState& state) {
    StreamState* stream = &state.current_stream();
    if (state.synchronous() || std::count(streams_.begin(), streams_.end(), stream) > 0) return;
    streams_.push_back(stream);
  }

  std::optional<StreamGuard> aside_;
  std::vector<StreamState*> streams_;
};

/// The distinct tensors over one storage, in the order of the slots.
struct Group {
  std::string name;  ///< of the first, for messages
  std::vector<Tensor> tensors;
};

uint64_t bytes_of(const Group& group) {
  uint64_t bytes = 0;
  for (const Tensor& tensor : group.tensors) bytes += tensor.nbytes();
  return bytes;
}

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

/// What can travel in company: for each group its one tensor, or an undefined
/// one. Where there is no room for that all are moved one by one.
std::vector<Tensor> relocate_small(const std::vector<Group>& groups, const Target& target) {
  std::vector<Tensor> out(groups.size());
  if (!target.device || target.copy) return out;
  std::vector<Tensor> small;
  std::vector<size_t> places;
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<Tensor>& tensors = groups[g].tensors;
    const DType own = tensors[0].dtype();
    const bool converts = target.dtype && is_floating_point(own) && *target.dtype != own;
    if (tensors.size() != 1 || converts) continue;
    small.push_back(tensors[0]);
    places.push_back(g);
  }
  try {
    const std::vector<Tensor> moved = move_together(small, *target.device);
    for (size_t i = 0; i < moved.size(); ++i) out[places[i]] = moved[i];
  } catch (const OutOfMemoryError&) {
    // One by one there may be room; if not, the error names the tensor.
  }
  return out;
}

using Moved = std::vector<std::pair<Tensor, Tensor>>;  // old, new

Moved relocate_groups(const std::vector<Group>& groups, const std::vector<Tensor>& packed,
                      const Target& target, const char* doing, const MoveOptions& options) {
  MoveProgress progress;
  for (const Group& group : groups) progress.total += bytes_of(group);
  Moved moved;
  Journey journey(target.device);
  for (size_t g = 0; g < groups.size(); ++g) {
    const Group& group = groups[g];
    try {
      journey.add(group.tensors[0]);
      std::vector<Tensor> fresh =
          packed[g].defined() ? std::vector<Tensor>{packed[g]} : relocate(group.tensors, target);
      for (size_t i = 0; i < fresh.size(); ++i) {
        moved.emplace_back(group.tensors[i], std::move(fresh[i]));
      }
    } catch (const OutOfMemoryError& e) {
      throw OutOfMemoryError(std::string(e.what()) + " (" + doing + " '" + group.name + "' " +
                                 to_string(group.tensors[0].shape()) + "; the module is unchanged)",
                             e.requested, e.free, e.total, e.allocated, e.reserved);
    }
    if (!options.progress) continue;
    progress.name = group.name;
    progress.done += bytes_of(group);
    options.progress(progress);
  }
  journey.finish();
  return moved;
}

Moved relocate_all(const std::vector<Slot>& slots, const Target& target, const char* doing,
                   const MoveOptions& options = {}) {
  const std::vector<Group> groups = groups_of(slots);
  std::vector<Tensor> packed = relocate_small(groups, target);
  const auto defined = [](const Tensor& t) { return t.defined(); };
  if (std::any_of(packed.begin(), packed.end(), defined)) {
    try {
      return relocate_groups(groups, packed, target, doing, options);
    } catch (const OutOfMemoryError&) {
      // Neighbours need one large place; single tensors find small ones.
      std::fill(packed.begin(), packed.end(), Tensor());
    }
  }
  return relocate_groups(groups, packed, target, doing, options);
}

void move(Module& module, const Target& target, const MoveOptions& options) {
  if (target.dtype && !is_floating_point(*target.dtype)) {
    throw InvalidArgument("Module::to", "a module is converted to floating dtypes only, not " +
                                            std::string(name(*target.dtype)));
  }
  for (const auto& [old, fresh] : relocate_all(slots_of(module), target, "moving", options)) {
    old.set_data(fresh);
  }
}

}  // namespace

Module& Module::to(const Device& device, const MoveOptions& options) {
  move(*this, {.device = device, .dtype = {}}, options);
  return *this;
}

Module& Module::to(DType dtype, const MoveOptions& options) {
  move(*this, {.device = {}, .dtype = dtype}, options);
  return *this;
}

Module& Module::to(const Device& device, DType dtype, const MoveOptions& options) {
  move(*this, {.device = device, .dtype = dtype}, options);
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
