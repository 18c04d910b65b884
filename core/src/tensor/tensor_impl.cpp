// SPDX-License-Identifier: Apache-2.0
//
// TensorImpl: counting, checked sizes, views.
#include "tensor/tensor_impl.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "ferry/error.h"
#include "runtime/device_state.h"
#include "runtime/pinned.h"

namespace ferry::detail {
namespace {

__extension__ using Wide = __int128;

/// a * b, or -1 when it does not fit i64 or an operand is -1 already.
int64_t checked_mul(int64_t a, int64_t b) noexcept {
  int64_t out = 0;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &out) ? -1 : out;
}

}  // namespace

TensorImpl::~TensorImpl() {
  if (storage != nullptr) release(storage);
}

void retain(TensorImpl* impl) noexcept {
  if (impl != nullptr) impl->refs.fetch_add(1, std::memory_order_relaxed);
}
void release(TensorImpl* impl) noexcept {
  if (impl != nullptr && impl->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete impl;
}

TensorImpl& impl_of(const Tensor& tensor, const char* where) {
  if (!tensor.defined()) throw InvalidArgument(where, "the tensor is undefined");
  return *tensor.impl();
}

int64_t checked_numel(ShapeRef shape, DType dtype, const char* where) {
  if (shape.size() > FERRY_MAX_DIMS) {
    throw InvalidArgument(where, "a tensor has at most " + std::to_string(FERRY_MAX_DIMS) +
                                     " dimensions, not " + std::to_string(shape.size()));
  }
  bool empty = false;
  for (const int64_t s : shape) {
    if (s < 0) throw InvalidArgument(where, "negative size in shape " + to_string(shape));
    empty = empty || s == 0;
  }
  if (empty) return 0;
  int64_t n = 1;
  for (const int64_t s : shape) n = checked_mul(n, s);
  if (checked_mul(n, static_cast<int64_t>(item_size(dtype))) < 0) {
    throw InvalidArgument(where, "shape " + to_string(shape) + " of " + std::string(name(dtype)) +
                                     " has more bytes than 64 bits can count");
  }
  return n;
}

std::array<int64_t, FERRY_MAX_DIMS> contiguous_strides(ShapeRef shape) noexcept {
  std::array<int64_t, FERRY_MAX_DIMS> strides{};
  // With an empty dimension the strides describe nothing; sizes of 0 count as 1
  // so that the product cannot overflow past what checked_numel allowed.
  int64_t next = 1;
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = next;
    if (!empty) next *= shape[d];
  }
  return strides;
}

namespace {

/// The dimensions with more than one element, by rising stride.
struct SortedDims {
  struct Dim {
    int64_t stride, size;
  };
  std::array<Dim, FERRY_MAX_DIMS> dims;
  size_t count = 0;

  SortedDims(ShapeRef shape, ShapeRef strides) noexcept {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      size_t at = count++;
      for (; at > 0 && dims[at - 1].stride > strides[d]; --at) dims[at] = dims[at - 1];
      dims[at] = {strides[d], shape[d]};
    }
  }
  const Dim* begin() const noexcept { return dims.data(); }
  const Dim* end() const noexcept { return dims.data() + count; }
};

}  // namespace

bool is_dense(ShapeRef shape, ShapeRef strides) noexcept {
  int64_t next = 1;
  for (const auto& [stride, size] : SortedDims(shape, strides)) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

bool may_overlap_itself(ShapeRef shape, ShapeRef strides) noexcept {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return false;
  int64_t reach = 0;
  for (const auto& [stride, size] : SortedDims(shape, strides)) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

int64_t wrap_dim(int64_t d, int64_t ndim, const char* where) {
  const int64_t range = std::max<int64_t>(ndim, 1);
  if (d < -range || d >= range) {
    throw InvalidArgument(where, "dimension " + std::to_string(d) + " is outside " +
                                     std::to_string(-range) + ".." + std::to_string(range - 1) +
                                     " of a tensor with " + std::to_string(ndim) + " dimensions");
  }
  return d < 0 ? d + range : d;
}

Span span_of(const TensorImpl& impl) noexcept {
  if (impl.numel == 0) return {impl.offset, impl.offset};
  int64_t last = impl.offset;
  for (size_t d = 0; d < impl.ndim; ++d) last += (impl.shape_[d] - 1) * impl.stride_[d];
  return {impl.offset, last + 1};
}

Tensor make_view(Storage* storage, DType dtype, ShapeRef shape, ShapeRef strides, int64_t offset,
                 const char* where) {
  const int64_t numel = checked_numel(shape, dtype, where);
  auto impl = std::make_unique<TensorImpl>();
  impl->dtype = dtype;
  impl->ndim = static_cast<uint8_t>(shape.size());
  impl->numel = numel;
  impl->offset = offset;
  std::copy(shape.begin(), shape.end(), impl->shape_.begin());
  std::copy(strides.begin(), strides.end(), impl->stride_.begin());
  const auto row_major = contiguous_strides(shape);
  impl->contiguous = true;
  for (size_t d = 0; d < shape.size() && numel > 0; ++d) {
    if (shape[d] != 1 && strides[d] != row_major[d]) impl->contiguous = false;
  }
  // The last element must lie inside: in 128 bits, for strides may be anything.
  Wide last = offset;
  for (size_t d = 0; d < shape.size() && numel > 0; ++d) {
    if (strides[d] < 0) throw InvalidArgument(where, "negative stride");
    last += static_cast<Wide>(shape[d] - 1) * strides[d];
  }
  const auto held = static_cast<Wide>(storage->bytes / item_size(dtype));
  if (offset < 0 || (numel > 0 && last >= held)) {
    throw InvalidArgument(where, "shape " + to_string(shape) + " with strides " +
                                     to_string(strides) + " and offset " + std::to_string(offset) +
                                     " reaches outside the storage of " +
                                     std::to_string(storage->bytes) + " bytes");
  }
  retain(storage);
  impl->storage = storage;
  return Tensor::adopt(impl.release());
}

Tensor make_row_major_view(const TensorImpl& of, ShapeRef shape) {
  auto impl = std::make_unique<TensorImpl>();
  impl->dtype = of.dtype;
  impl->ndim = static_cast<uint8_t>(shape.size());
  impl->numel = of.numel;
  impl->offset = of.offset;
  std::copy(shape.begin(), shape.end(), impl->shape_.begin());
  impl->stride_ = contiguous_strides(shape);
  retain(of.storage);
  impl->storage = of.storage;
  return Tensor::adopt(impl.release());
}

namespace {

Tensor fresh(runtime::DeviceState& device, DType dtype, ShapeRef shape, ShapeRef strides,
             int64_t numel, bool contiguous) {
  auto impl = std::make_unique<TensorImpl>();
  impl->dtype = dtype;
  impl->ndim = static_cast<uint8_t>(shape.size());
  impl->numel = numel;
  impl->contiguous = contiguous;
  std::copy(shape.begin(), shape.end(), impl->shape_.begin());
  std::copy(strides.begin(), strides.end(), impl->stride_.begin());
  impl->storage = new_storage(device, static_cast<uint64_t>(numel) * item_size(dtype));
  return Tensor::adopt(impl.release());
}

}  // namespace

Tensor make_empty(runtime::DeviceState& device, DType dtype, ShapeRef shape, const char* where) {
  const int64_t numel = checked_numel(shape, dtype, where);
  const auto strides = contiguous_strides(shape);
  return fresh(device, dtype, shape, {strides.data(), shape.size()}, numel, true);
}

Tensor make_empty_strided(runtime::DeviceState& device, DType dtype, ShapeRef shape,
                          ShapeRef strides, const char* where) {
  const int64_t numel = checked_numel(shape, dtype, where);
  const auto row_major = contiguous_strides(shape);
  bool contiguous = true;
  for (size_t d = 0; d < shape.size() && numel > 0; ++d) {
    if (shape[d] != 1 && strides[d] != row_major[d]) contiguous = false;
  }
  return fresh(device, dtype, shape, strides, numel, contiguous);
}

Tensor make_pinned(const std::optional<Device>& device, DType dtype, ShapeRef shape,
                   ShapeRef strides, const char* where) {
  const auto numel = static_cast<uint64_t>(checked_numel(shape, dtype, where));
  Storage* storage = runtime::pinned_storage(device, numel * item_size(dtype), where);
  const std::unique_ptr<Storage, void (*)(Storage*)> held(storage, [](Storage* s) { release(s); });
  return make_view(storage, dtype, shape, strides, 0, where);
}

}  // namespace ferry::detail
