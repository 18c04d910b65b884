// SPDX-License-Identifier: Apache-2.0
//
// TensorImpl: what a Tensor handle points to.
#ifndef FERRY_TENSOR_TENSOR_IMPL_H
#define FERRY_TENSOR_TENSOR_IMPL_H

#include <array>
#include <atomic>
#include <span>

#include "ferry/tensor.h"
#include "runtime/object_pool.h"
#include "runtime/storage.h"

namespace ferry::detail {

/// A strided view of a storage. Sizes and strides in elements.
struct TensorImpl {
  std::atomic<uint32_t> refs{1};
  std::atomic<uint32_t> version{0};  ///< bumped by writes in place
  DType dtype = kF32;
  uint8_t ndim = 0;
  bool contiguous = true;
  Storage* storage = nullptr;  ///< one reference
  int64_t offset = 0;
  int64_t numel = 1;
  std::array<int64_t, FERRY_MAX_DIMS> shape_{};
  std::array<int64_t, FERRY_MAX_DIMS> stride_{};
  void* history = nullptr;  ///< room for differentiation

  TensorImpl() = default;
  TensorImpl(const TensorImpl&) = delete;
  TensorImpl& operator=(const TensorImpl&) = delete;
  ~TensorImpl();

  static void* operator new(size_t bytes) { return ObjectPool<TensorImpl>::take(bytes); }
  static void operator delete(void* piece) noexcept { ObjectPool<TensorImpl>::give(piece); }

  ShapeRef shape() const noexcept { return {shape_.data(), ndim}; }
  ShapeRef strides() const noexcept { return {stride_.data(), ndim}; }
};

/// The impl of a defined tensor; InvalidArgument naming `where` otherwise.
TensorImpl& impl_of(const Tensor& tensor, const char* where);

/// numel of a shape. InvalidArgument for negative sizes, too many dimensions or
/// a count or byte size beyond i64.
int64_t checked_numel(ShapeRef shape, DType dtype, const char* where);

/// A tensor over `storage` (one more reference is taken). numel and contiguity
/// are worked out; the span is checked against the storage.
Tensor make_view(Storage* storage, DType dtype, ShapeRef shape, ShapeRef strides, int64_t offset,
                 const char* where);

/// The elements of a contiguous (or empty) tensor in another shape of the same
/// count, which the caller has checked.
Tensor make_row_major_view(const TensorImpl& of, ShapeRef shape);

/// Fresh, uninitialised, contiguous.
Tensor make_empty(runtime::DeviceState& device, DType dtype, ShapeRef shape, const char* where);
/// The same with the given dense strides.
Tensor make_empty_strided(runtime::DeviceState& device, DType dtype, ShapeRef shape,
                          ShapeRef strides, const char* where);
/// The same on the CPU, in pinned host memory; `device` as pinned_storage() takes it.
Tensor make_pinned(const std::optional<Device>& device, DType dtype, ShapeRef shape,
                   ShapeRef strides, const char* where);

/// Row-major strides.
std::array<int64_t, FERRY_MAX_DIMS> contiguous_strides(ShapeRef shape) noexcept;
/// Whether the elements fill a range without gaps or overlap, in any order.
bool is_dense(ShapeRef shape, ShapeRef strides) noexcept;
/// Whether two elements may share memory.
bool may_overlap_itself(ShapeRef shape, ShapeRef strides) noexcept;

/// `d` in 0..ndim-1, counting from the end when negative.
int64_t wrap_dim(int64_t d, int64_t ndim, const char* where);

/// The storage range that a tensor touches, in elements: [begin, end).
struct Span {
  int64_t begin, end;
};
Span span_of(const TensorImpl& impl) noexcept;

}  // namespace ferry::detail

#endif  // FERRY_TENSOR_TENSOR_IMPL_H
