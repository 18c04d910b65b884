// SPDX-License-Identifier: Apache-2.0
//
// Tensors in pinned host memory.
#include "ferry/error.h"
#include "ferry/tensor.h"
#include "runtime/device_state.h"
#include "runtime/pinned.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

bool Tensor::is_pinned() const { return impl_of(*this, "is_pinned").storage->pinned; }

Tensor Tensor::pin_memory(std::optional<Device> device) const {
  const TensorImpl& impl = impl_of(*this, "pin_memory");
  if (!impl.storage->device->device().is_cpu()) {
    throw InvalidArgument("pin_memory", "the tensor is on " + this->device().str() +
                                            "; only memory of the CPU is pinned, so copy it there "
                                            "with cpu() first");
  }
  if (impl.storage->pinned) return *this;
  const bool dense = impl.numel > 0 && detail::is_dense(impl.shape(), impl.strides());
  const auto row_major = detail::contiguous_strides(impl.shape());
  const ShapeRef strides = dense ? impl.strides() : ShapeRef(row_major.data(), impl.ndim);
  Tensor out = detail::make_pinned(device, impl.dtype, impl.shape(), strides, "pin_memory");
  out.copy_(*this);
  return out;
}

}  // namespace ferry
