// SPDX-License-Identifier: Apache-2.0
//
// Writes checked values into a module. Bytes go straight to where they belong;
// what must be converted goes through one scratch tensor a device, as large as
// the largest of them. It is taken before the first write, and each kind of
// conversion is tried on it, so that neither a lack of memory nor a missing
// kernel can stop half-way.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ferry/device.h"
#include "nn/load.h"
#include "runtime/copy.h"
#include "tensor/tensor_impl.h"

namespace ferry::nn {
namespace {

using ferry::detail::Storage;
using ferry::detail::TensorImpl;

const void* device_of(const Tensor& tensor) { return tensor.impl()->storage->device; }

void copy_dense(const Tensor& target, const Tensor& source) {
  const auto place = [](const Tensor& t) {
    const TensorImpl& impl = *t.impl();
    return runtime::Place{impl.storage, static_cast<uint64_t>(impl.offset) * item_size(impl.dtype)};
  };
  runtime::copy_bytes(place(target), place(source), target.nbytes());
  target.impl()->version.fetch_add(1, std::memory_order_relaxed);
}

bool fits_as_bytes(const Tensor& target, const Tensor& source) {
  return target.dtype() == source.dtype() && target.is_contiguous() && source.is_contiguous();
}

/// Scratch memory of the devices.
class Scratch {
 public:
  void want(const Tensor& there, uint64_t bytes) {
    auto& [device, size] = wanted_[device_of(there)];
    device = there.device();
    size = std::max(size, bytes);
  }
  void take() {
    for (const auto& [key, need] : wanted_) {
      const auto& [device, bytes] = need;
      blocks_.emplace(key, empty({static_cast<int64_t>(bytes)}, {kU8, device}));
    }
  }
  /// A contiguous tensor like `target` where `there` is.
  Tensor like(const Tensor& target, const Tensor& there) const {
    const ShapeRef shape = target.impl()->shape();
    const auto strides = ferry::detail::contiguous_strides(shape);
    return ferry::detail::make_view(blocks_.at(device_of(there)).impl()->storage, target.dtype(),
                                    shape, {strides.data(), shape.size()}, 0, "load_state_dict");
  }

 private:
  std::map<const void*, std::pair<Device, uint64_t>> wanted_;
  std::map<const void*, Tensor> blocks_;
};

/// Values that lie in the module itself could be overwritten before they are
/// read: they are copied first. What is in its place already is left out.
void settle_aliases(std::vector<Assignment>& assignments) {
  std::set<const Storage*> written;
  for (const Assignment& a : assignments) written.insert(a.target.impl()->storage);
  std::erase_if(assignments, [](const Assignment& a) {
    return a.target.numel() == 0 || same_view(a.target, a.source);
  });
  for (Assignment& a : assignments) {
    if (written.contains(a.source.impl()->storage)) a.source = a.source.clone();
  }
}

void write(const Assignment& a, const Scratch& scratch) {
  if (fits_as_bytes(a.target, a.source)) {
    copy_dense(a.target, a.source);
    return;
  }
  if (device_of(a.target) == device_of(a.source)) {
    a.target.copy_(a.source);
    return;
  }
  Tensor dense = a.source;
  if (!a.source.is_contiguous() || a.source.dtype() != a.target.dtype()) {
    dense = scratch.like(a.target, a.source);
    dense.copy_(a.source);
  }
  if (a.target.is_contiguous()) {
    copy_dense(a.target, dense);
    return;
  }
  const Tensor there = scratch.like(a.target, a.target);
  copy_dense(there, dense);
  a.target.copy_(there);
}

}  // namespace

void write_all(std::vector<Assignment>& assignments) {
  settle_aliases(assignments);
  Scratch scratch;
  std::vector<const Assignment*> kinds;
  std::set<std::tuple<const void*, DType, DType>> seen;
  for (Assignment& a : assignments) {
    if (a.source.dim() != a.target.dim()) a.source = a.source.reshape({});  // [1] for 0-dim
    if (fits_as_bytes(a.target, a.source)) continue;
    scratch.want(a.source, a.target.nbytes());
    if (!a.target.is_contiguous()) scratch.want(a.target, a.target.nbytes());
    if (seen.emplace(device_of(a.source), a.source.dtype(), a.target.dtype()).second) {
      kinds.push_back(&a);
    }
  }
  scratch.take();
  for (const Assignment* a : kinds) scratch.like(a->target, a->source).copy_(a->source);
  for (const Assignment& a : assignments) write(a, scratch);
}

LoadResult Module::load_state_dict(const StateDict& state, LoadOptions options) {
  LoadPlan plan = plan_load(*this, state, options);
  write_all(plan.assignments);
  return std::move(plan.result);
}

}  // namespace ferry::nn
