// SPDX-License-Identifier: Apache-2.0
//
// What a Tensor says of itself, and how the host reads it.
#include "ferry/tensor.h"

#include <cstring>
#include <string>

#include "ferry/error.h"
#include "ferry/sdk/convert.h"
#include "runtime/copy.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

std::string to_string(ShapeRef shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

int64_t Tensor::dim() const { return impl_of(*this, "dim").ndim; }
Shape Tensor::shape() const {
  const ShapeRef shape = impl_of(*this, "shape").shape();
  return {shape.begin(), shape.end()};
}
int64_t Tensor::size(int64_t d) const {
  const TensorImpl& impl = impl_of(*this, "size");
  if (impl.ndim == 0) throw InvalidArgument("size", "a 0-dim tensor has no dimensions");
  return impl.shape_[static_cast<size_t>(detail::wrap_dim(d, impl.ndim, "size"))];
}
Shape Tensor::strides() const {
  const ShapeRef strides = impl_of(*this, "strides").strides();
  return {strides.begin(), strides.end()};
}
int64_t Tensor::numel() const { return impl_of(*this, "numel").numel; }
DType Tensor::dtype() const { return impl_of(*this, "dtype").dtype; }
Device Tensor::device() const { return impl_of(*this, "device").storage->device->device(); }
int64_t Tensor::storage_offset() const { return impl_of(*this, "storage_offset").offset; }
bool Tensor::is_contiguous() const { return impl_of(*this, "is_contiguous").contiguous; }
bool Tensor::shares_storage(const Tensor& other) const {
  return impl_of(*this, "shares_storage").storage == impl_of(other, "shares_storage").storage;
}
uint64_t Tensor::nbytes() const {
  const TensorImpl& impl = impl_of(*this, "nbytes");
  return static_cast<uint64_t>(impl.numel) * item_size(impl.dtype);
}

Scalar Tensor::item_scalar() const {
  const TensorImpl& impl = impl_of(*this, "item");
  if (impl.numel != 1) {
    throw InvalidArgument("item", "a tensor of shape " + to_string(impl.shape()) + " has " +
                                      std::to_string(impl.numel) + " elements, not one");
  }
  alignas(8) std::byte bytes[8];
  const uint64_t size = item_size(impl.dtype);
  runtime::copy_to_host(bytes, {impl.storage, static_cast<uint64_t>(impl.offset) * size}, size);
  return sdk::visit_dtype(static_cast<uint32_t>(impl.dtype), [&](auto tag) {
    using T = decltype(tag);
    T value;
    std::memcpy(&value, bytes, sizeof value);
    if constexpr (std::is_same_v<T, sdk::Bool>)
      return Scalar(value.value != 0);
    else if constexpr (std::is_integral_v<T>)
      return Scalar(value);
    else
      return Scalar(sdk::load_as<double>(value));
  });
}

void Tensor::copy_to_host(void* dst, DType dtype) const {
  const TensorImpl& impl = impl_of(*this, "copy_to_host");
  if (dtype != impl.dtype) {
    throw InvalidArgument("copy_to_host", "the tensor is " + std::string(name(impl.dtype)) +
                                              ", not " + std::string(name(dtype)) +
                                              "; convert it with to()");
  }
  if (impl.numel == 0) return;
  const Tensor dense = contiguous();
  const TensorImpl& from = *dense.impl();
  const uint64_t item = item_size(dtype);
  runtime::copy_to_host(dst, {from.storage, static_cast<uint64_t>(from.offset) * item},
                        static_cast<uint64_t>(from.numel) * item);
}

void* Tensor::host_data(DType dtype) const {
  const TensorImpl& impl = impl_of(*this, "data_ptr");
  if (dtype != impl.dtype) {
    throw InvalidArgument("data_ptr", "the tensor is " + std::string(name(impl.dtype)) + ", not " +
                                          std::string(name(dtype)));
  }
  if (!impl.storage->device->host_accessible()) {
    throw InvalidArgument(
        "data_ptr", "the memory of " + device().str() + " is not the host's; copy it with cpu()");
  }
  if (impl.storage->host == nullptr) return nullptr;  // no elements
  impl.storage->wait_for_uses();
  impl.storage->device->wait_if_asynchronous();
  return impl.storage->host + static_cast<size_t>(impl.offset) * item_size(impl.dtype);
}

void Tensor::set_data(const Tensor& source) const {
  TensorImpl& to = impl_of(*this, "set_data");
  const TensorImpl& from = impl_of(source, "set_data");
  if (&to == &from) return;
  detail::retain(from.storage);
  detail::release(to.storage);
  to.storage = from.storage;
  to.dtype = from.dtype;
  to.ndim = from.ndim;
  to.contiguous = from.contiguous;
  to.offset = from.offset;
  to.numel = from.numel;
  to.shape_ = from.shape_;
  to.stride_ = from.stride_;
  to.version.fetch_add(1, std::memory_order_relaxed);
}

void throw_wrong_count(size_t got, ShapeRef shape) {
  throw InvalidArgument("tensor",
                        std::to_string(got) + " values do not fill shape " + to_string(shape));
}

}  // namespace ferry
