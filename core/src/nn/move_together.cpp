// SPDX-License-Identifier: Apache-2.0
//
// To a device: storages that lie side by side are filled by one copy from a
// packed buffer. From a device: what lies side by side there, as it does after
// that, comes back by one copy.
#include "nn/move_together.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>

#include "runtime/allocator.h"
#include "runtime/copy.h"
#include "runtime/device_state.h"
#include "runtime/pinned.h"
#include "tensor/tensor_impl.h"

namespace ferry::nn {
namespace {

using ferry::detail::Storage;
using ferry::detail::TensorImpl;
using runtime::DeviceState;

/// Above this a copy's fixed cost is small beside its bytes.
constexpr uint64_t kSmall = uint64_t{256} << 10;
/// Bytes of one packed copy, which the host holds twice for a moment.
constexpr uint64_t kPack = uint64_t{32} << 20;

uint64_t bytes_of(const TensorImpl& impl) {
  return static_cast<uint64_t>(impl.numel) * item_size(impl.dtype);
}

bool is_small(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  return impl.numel > 0 && impl.contiguous && impl.storage->block != nullptr &&
         bytes_of(impl) <= kSmall;
}

/// Holds one reference.
struct Owner {
  explicit Owner(Storage* s) : storage(s) {}
  ~Owner() { ferry::detail::release(storage); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  Storage* storage;
};

/// Pinned where the device has such memory. From an allocator's cache in any
/// case: fresh pages would cost more than the copy.
Storage* host_buffer(DeviceState& target, uint64_t bytes) {
  if (Storage* pinned = runtime::try_pinned_storage(target, bytes)) return pinned;
  return ferry::detail::new_storage(DeviceState::get(Device()), bytes);
}

/// A tensor like `like` at the begin of a storage, whose reference is taken over.
Tensor place(Storage* storage, const TensorImpl& like) {
  const Owner owner(storage);
  return ferry::detail::make_view(storage, like.dtype, like.shape(), like.strides(), 0, "to");
}

/// Some of the tensors, by their places in the list.
using Batch = std::vector<size_t>;

const runtime::Block& block_of(const Tensor& tensor) { return *tensor.impl()->storage->block; }

/// Whether nothing lies between them.
bool side_by_side(const Tensor& a, const Tensor& b) {
  const runtime::Block& x = block_of(a);
  const runtime::Block& y = block_of(b);
  return x.segment == y.segment && x.offset + x.bytes == y.offset;
}

void send(const std::vector<Tensor>& tensors, const Batch& batch, DeviceState& target,
          std::vector<Tensor>* out) {
  std::vector<uint64_t> sizes;
  for (const size_t i : batch) sizes.push_back(bytes_of(*tensors[i].impl()));
  const std::vector<Storage*> storages = ferry::detail::new_storage_run(target, sizes);
  for (size_t k = 0; k < batch.size(); ++k) {
    (*out)[batch[k]] = place(storages[k], *tensors[batch[k]].impl());
  }
  const auto offset = [&](size_t k) { return storages[k]->at.offset - storages[0]->at.offset; };
  const uint64_t span = offset(batch.size() - 1) + sizes.back();
  // Do they lie here already as they will lie there?
  const auto* const first = static_cast<const std::byte*>(tensors[batch[0]].data_ptr());
  bool in_place = true;
  for (size_t k = 1; k < batch.size() && in_place; ++k) {
    const Tensor& t = tensors[batch[k]];
    in_place = side_by_side(tensors[batch[k - 1]], t) &&
               static_cast<const std::byte*>(t.data_ptr()) == first + offset(k);
  }
  if (in_place) {
    runtime::copy_from_host({storages[0], 0}, first, span);
    return;
  }
  const Owner buffer{host_buffer(target, span)};
  std::byte* const packed = buffer.storage->host;
  for (size_t k = 0; k < batch.size(); ++k) {
    std::memcpy(packed + offset(k), tensors[batch[k]].data_ptr(), sizes[k]);
  }
  runtime::copy_from_host({storages[0], 0}, packed, span);
}

void fetch(const std::vector<Tensor>& tensors, const Batch& batch, DeviceState& target,
           std::vector<Tensor>* out) {
  // On the host they lie as far apart as on the device.
  std::vector<uint64_t> sizes;
  for (const size_t i : batch) sizes.push_back(block_of(tensors[i]).bytes);
  const std::vector<Storage*> storages = ferry::detail::new_storage_run(target, sizes);
  for (size_t k = 0; k < batch.size(); ++k) {
    const TensorImpl& impl = *tensors[batch[k]].impl();
    storages[k]->bytes = bytes_of(impl);
    (*out)[batch[k]] = place(storages[k], impl);
    impl.storage->wait_for_uses();
  }
  Storage& from = *tensors[batch[0]].impl()->storage;
  const TensorImpl& last = *tensors[batch.back()].impl();
  const uint64_t span = last.storage->at.offset + bytes_of(last) - from.at.offset;
  runtime::copy_to_host(storages[0]->host, {&from, 0}, span);
}

/// Cuts a list where `fits(before, next)` says no or a pack is full.
template <class Fits>
std::vector<Batch> batches(const std::vector<Tensor>& tensors, const Batch& order, Fits&& fits) {
  std::vector<Batch> out;
  uint64_t bytes = 0;
  for (const size_t i : order) {
    const uint64_t own = bytes_of(*tensors[i].impl());
    if (out.empty() || bytes + own > kPack || !fits(out.back().back(), i)) {
      out.emplace_back();
      bytes = 0;
    }
    out.back().push_back(i);
    bytes += own;
  }
  std::erase_if(out, [](const Batch& b) { return b.size() < 2; });
  return out;
}

}  // namespace

std::vector<Tensor> move_together(const std::vector<Tensor>& tensors, const Device& target) {
  std::vector<Tensor> out(tensors.size());
  DeviceState& there = DeviceState::get(target);
  Batch up, down;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DeviceState& here = *tensors[i].impl()->storage->device;
    if (&here == &there || !is_small(tensors[i])) continue;
    if (here.host_accessible() && !there.host_accessible()) up.push_back(i);
    // A view of a part would bring back what lies behind it, too.
    const bool whole = tensors[i].impl()->offset == 0 &&
                       bytes_of(*tensors[i].impl()) == tensors[i].impl()->storage->bytes;
    if (!here.host_accessible() && there.host_accessible() && whole) down.push_back(i);
  }
  for (const Batch& batch : batches(tensors, up, [](size_t, size_t) { return true; })) {
    send(tensors, batch, there, &out);
  }
  std::sort(down.begin(), down.end(), [&](size_t a, size_t b) {
    const runtime::Block& x = block_of(tensors[a]);
    const runtime::Block& y = block_of(tensors[b]);
    return x.segment != y.segment ? std::less<>()(x.segment, y.segment) : x.offset < y.offset;
  });
  const auto adjoin = [&](size_t a, size_t b) { return side_by_side(tensors[a], tensors[b]); };
  for (const Batch& batch : batches(tensors, down, adjoin)) {
    fetch(tensors, batch, there, &out);
  }
  return out;
}

}  // namespace ferry::nn
