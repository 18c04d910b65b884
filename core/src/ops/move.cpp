// SPDX-License-Identifier: Apache-2.0
//
// Movement and conversion: to(), contiguous(), clone(), copy_(), fill_().
#include <algorithm>
#include <memory>
#include <string>

#include "ferry/error.h"
#include "ferry/tensor.h"
#include "ops/byte_fill.h"
#include "ops/map_builder.h"
#include "ops/move.h"
#include "runtime/copy.h"
#include "runtime/device_state.h"
#include "runtime/pinned.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;
using runtime::CopyMode;
using runtime::DeviceState;

namespace {

runtime::Place place_of(const TensorImpl& impl) {
  return {impl.storage, static_cast<uint64_t>(detail::span_of(impl).begin) * item_size(impl.dtype)};
}

/// dst[i] = src[i] for every element, converted. Same shape, same device.
void map_copy(const Tensor& dst, const Tensor& src, const char* where) {
  ops::MapBuilder program(ops::compute_type(src.dtype()));
  const ops::Reg value = program.input(src);
  program.run(where, *dst.impl()->storage->device, value, dst);
}

/// A fresh tensor of the same values; dense strides are kept.
Tensor convert(const TensorImpl& impl, const Tensor& self, DType dtype, const char* where) {
  DeviceState& device = *impl.storage->device;
  const bool dense = impl.numel > 0 && detail::is_dense(impl.shape(), impl.strides());
  Tensor out = dense
                   ? detail::make_empty_strided(device, dtype, impl.shape(), impl.strides(), where)
                   : detail::make_empty(device, dtype, impl.shape(), where);
  if (impl.numel == 0) return out;
  if (dense && dtype == impl.dtype) {
    runtime::copy_bytes({out.impl()->storage, 0}, place_of(impl), out.nbytes());
  } else {
    map_copy(out, self, where);
  }
  return out;
}

/// Where the transfer goes. A copy to the host that need not block goes to
/// pinned memory where the device has it: elsewhere some drivers do block.
Tensor destination(const TensorImpl& impl, DeviceState& target, CopyMode mode) {
  if (mode == CopyMode::kNonBlocking && target.device().is_cpu()) {
    const uint64_t bytes = static_cast<uint64_t>(impl.numel) * item_size(impl.dtype);
    if (detail::Storage* pinned = runtime::try_pinned_storage(*impl.storage->device, bytes)) {
      const std::unique_ptr<detail::Storage, void (*)(detail::Storage*)> held(
          pinned, [](detail::Storage* s) { detail::release(s); });
      return detail::make_view(pinned, impl.dtype, impl.shape(), impl.strides(), 0, "to");
    }
  }
  return detail::make_empty_strided(target, impl.dtype, impl.shape(), impl.strides(), "to");
}

/// A fresh tensor of the same values and dtype on another device.
Tensor transfer(const Tensor& self, DeviceState& target, CopyMode mode) {
  const TensorImpl& impl = *self.impl();
  if (impl.numel == 0) return detail::make_empty(target, impl.dtype, impl.shape(), "to");
  if (!detail::is_dense(impl.shape(), impl.strides()))
    return transfer(self.contiguous(), target, mode);
  Tensor out = destination(impl, target, mode);
  runtime::copy_bytes({out.impl()->storage, 0}, place_of(impl), out.nbytes(), mode);
  return out;
}

Tensor move(const Tensor& self, DeviceState& target, DType dtype, bool copy, CopyMode mode) {
  const TensorImpl& impl = impl_of(self, "to");
  const bool moves = &target != impl.storage->device;
  if (!moves && dtype == impl.dtype) {
    return copy ? convert(impl, self, dtype, "to") : self;
  }
  if (!moves) return convert(impl, self, dtype, "to");
  // The conversion goes to the side where fewer bytes travel.
  if (item_size(dtype) < item_size(impl.dtype)) {
    return transfer(convert(impl, self, dtype, "to"), target, mode);
  }
  const Tensor there = transfer(self, target, mode);
  return dtype == impl.dtype ? there : convert(*there.impl(), there, dtype, "to");
}

Tensor move(const Tensor& self, DeviceState& target, DType dtype, ToOptions options) {
  return move(self, target, dtype, options.copy,
              options.non_blocking ? CopyMode::kNonBlocking : CopyMode::kBlocking);
}

/// InvalidArgument where elements of the target share memory.
void refuse_overlap(const TensorImpl& impl, const char* where) {
  if (!detail::may_overlap_itself(impl.shape(), impl.strides())) return;
  throw InvalidArgument(where, "elements of the target (shape " + to_string(impl.shape()) +
                                   ", strides " + to_string(impl.strides()) +
                                   ") share memory; clone() it first");
}

bool overlaps(const TensorImpl& a, const TensorImpl& b) {
  if (a.storage != b.storage) return false;
  const detail::Span s = detail::span_of(a);
  const detail::Span t = detail::span_of(b);
  const auto item_a = static_cast<int64_t>(item_size(a.dtype));
  const auto item_b = static_cast<int64_t>(item_size(b.dtype));
  return s.begin * item_a < t.end * item_b && t.begin * item_b < s.end * item_a;
}

/// Copies from another device straight into `to`, where that is possible.
bool copy_across(TensorImpl& to, const Tensor& source) {
  const TensorImpl& from = *source.impl();
  const ShapeRef shape = from.shape();
  if (!to.contiguous || !std::ranges::equal(shape, to.shape())) return false;
  Tensor sent = source;
  if (to.dtype != from.dtype) {
    // Fewer bytes travel when it is converted first; else the target converts.
    if (item_size(to.dtype) >= item_size(from.dtype)) return false;
    sent = source.to(to.dtype);
  }
  sent = sent.contiguous();
  runtime::copy_bytes(place_of(to), place_of(*sent.impl()), sent.nbytes());
  to.version.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

Tensor Tensor::to(const Device& device, ToOptions options) const {
  // Programs move what may be there already: that costs a comparison.
  if (impl_ != nullptr && !options.copy && impl_->storage->device->device() == device) return *this;
  return move(*this, DeviceState::get(device), impl_of(*this, "to").dtype, options);
}
Tensor Tensor::to(DType dtype, ToOptions options) const {
  return move(*this, *impl_of(*this, "to").storage->device, dtype, options);
}
Tensor Tensor::to(const Device& device, DType dtype, ToOptions options) const {
  (void)impl_of(*this, "to");
  return move(*this, DeviceState::get(device), dtype, options);
}
Tensor Tensor::to(const Tensor& other, ToOptions options) const {
  const TensorImpl& like = impl_of(other, "to");
  return move(*this, *like.storage->device, like.dtype, options);
}

Tensor ops::begin_to(const Tensor& tensor, const Device& device, DType dtype, bool copy) {
  return move(tensor, DeviceState::get(device), dtype, copy, CopyMode::kSourceKept);
}

Tensor Tensor::contiguous() const {
  return impl_of(*this, "contiguous").contiguous ? *this : clone();
}

Tensor Tensor::clone() const {
  const TensorImpl& impl = impl_of(*this, "clone");
  Tensor out = detail::make_empty(*impl.storage->device, impl.dtype, impl.shape(), "clone");
  if (impl.numel == 0) return out;
  if (impl.contiguous) {
    runtime::copy_bytes({out.impl()->storage, 0}, place_of(impl), out.nbytes());
  } else {
    map_copy(out, *this, "clone");
  }
  return out;
}

const Tensor& Tensor::copy_(const Tensor& source) const {
  TensorImpl& impl = impl_of(*this, "copy_");
  const TensorImpl& given = impl_of(source, "copy_");
  refuse_overlap(impl, "copy_");
  Tensor from = ops::expand_to(source, impl.shape(), "copy_");
  if (impl.numel == 0 || is_same(source)) return *this;
  if (given.storage->device != impl.storage->device) {
    if (copy_across(impl, source)) return *this;
    from = ops::expand_to(source.to(device()), impl.shape(), "copy_");
  } else if (overlaps(impl, given)) {
    from = from.clone();
  }
  if (impl.contiguous && from.impl()->contiguous && impl.dtype == from.impl()->dtype) {
    runtime::copy_bytes(place_of(impl), place_of(*from.impl()), nbytes());
  } else {
    map_copy(*this, from, "copy_");
  }
  impl.version.fetch_add(1, std::memory_order_relaxed);
  return *this;
}

const Tensor& Tensor::fill_(Scalar value) const {
  TensorImpl& impl = impl_of(*this, "fill_");
  refuse_overlap(impl, "fill_");
  if (impl.numel == 0) return *this;
  if (impl.dtype == kBool) value = value.to_bool();
  if (!ops::try_byte_fill(impl, value)) {
    ops::MapBuilder program(ops::compute_type(impl.dtype));
    program.run("fill_", *impl.storage->device, program.constant(value), *this);
  }
  impl.version.fetch_add(1, std::memory_order_relaxed);
  return *this;
}

}  // namespace ferry
