// SPDX-License-Identifier: Apache-2.0
//
// Tensor: a reference-counted handle to a strided view of device memory.
#ifndef FERRY_TENSOR_H
#define FERRY_TENSOR_H

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ferry/device.h"
#include "ferry/dtype.h"
#include "ferry/export.h"

namespace ferry {

/// Sizes or strides, in elements. At most FERRY_MAX_DIMS of them.
using Shape = std::vector<int64_t>;
using ShapeRef = std::span<const int64_t>;

/// A list of sizes as an argument: `{2, 3}`, a Shape or a span.
class Sizes {
 public:
  Sizes(std::initializer_list<int64_t> list) noexcept : data_(list.begin(), list.size()) {}
  Sizes(const Shape& shape) noexcept : data_(shape) {}  // NOLINT(google-explicit-constructor)
  Sizes(ShapeRef span) noexcept : data_(span) {}        // NOLINT(google-explicit-constructor)
  operator ShapeRef() const noexcept { return data_; }  // NOLINT(google-explicit-constructor)

 private:
  ShapeRef data_;
};

/// "[2, 3]".
FERRY_API std::string to_string(ShapeRef shape);

/// What to create: default float32 on the default device.
struct TensorOptions {
  std::optional<DType> dtype;
  std::optional<Device> device;
  bool pin_memory = false;  ///< on the CPU, as Tensor::pin_memory()

  TensorOptions() = default;
  TensorOptions(DType d) : dtype(d) {}                 // NOLINT
  TensorOptions(const Device& d) : device(d) {}        // NOLINT
  TensorOptions(const char* d) : device(Device(d)) {}  // NOLINT
  TensorOptions(DType t, const Device& d) : dtype(t), device(d) {}
  TensorOptions& pinned_memory(bool on = true) noexcept { return pin_memory = on, *this; }
};

struct ToOptions {
  /// Allow a copy to or from pinned host memory, or to the host, to be under way
  /// when the call returns. Later uses through Ferry wait for it by themselves.
  bool non_blocking = false;
  /// Always return fresh storage.
  bool copy = false;
};

namespace detail {
struct TensorImpl;
struct Storage;
FERRY_API void retain(TensorImpl* impl) noexcept;
FERRY_API void release(TensorImpl* impl) noexcept;
}  // namespace detail
namespace indexing {
class TensorIndex;
}

/// A handle. Copies share the tensor itself; views share its storage. A
/// default-made handle is undefined: every operation on it throws
/// InvalidArgument. Different tensors may be used from different threads; one
/// tensor may be read from several.
class FERRY_API Tensor {
 public:
  Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : impl_(other.impl_) { detail::retain(impl_); }
  Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor() { detail::release(impl_); }

  bool defined() const noexcept { return impl_ != nullptr; }
  /// Whether both are the same tensor (not merely equal or sharing storage).
  bool is_same(const Tensor& other) const noexcept { return impl_ == other.impl_; }

  // ---- What it is -------------------------------------------------------
  int64_t dim() const;
  Shape shape() const;
  /// Size of one dimension; negative `d` counts from the end.
  int64_t size(int64_t d) const;
  Shape strides() const;
  int64_t numel() const;
  DType dtype() const;
  Device device() const;
  /// First element, in elements from the start of the storage.
  int64_t storage_offset() const;
  bool is_contiguous() const;
  /// Whether both view the same storage.
  bool shares_storage(const Tensor& other) const;
  /// Bytes of its elements: numel() * item size.
  uint64_t nbytes() const;

  // ---- Host access ------------------------------------------------------
  /// The one element, converted. InvalidArgument unless numel() == 1. Waits.
  template <class T>
  T item() const {
    const Scalar s = item_scalar();
    if constexpr (std::is_same_v<T, bool>)
      return s.to_bool();
    else if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(s.to_double());
    else
      return static_cast<T>(s.to_int());
  }
  Scalar item_scalar() const;
  /// All elements in row-major order, copied to the host. T must be the exact
  /// C++ type of the dtype. Waits.
  template <class T>
  std::vector<T> to_vector() const {
    static_assert(!std::is_same_v<T, bool>, "use to_vector<uint8_t>() on x.to(kU8)");
    std::vector<T> out(static_cast<size_t>(numel()));
    copy_to_host(out.data(), dtype_of<T>());
    return out;
  }
  /// Copies all elements in row-major order to `dst`. `dtype` must be the
  /// tensor's. Waits.
  void copy_to_host(void* dst, DType dtype) const;
  /// First element, where the host may touch the memory (InvalidArgument for
  /// other devices and dtypes). Valid while the tensor lives; mind strides().
  template <class T>
  T* data_ptr() const {
    return static_cast<T*>(host_data(dtype_of<T>()));
  }
  void* data_ptr() const { return host_data(dtype()); }

  // ---- Movement ---------------------------------------------------------
  /// The tensor on `device` and of `dtype`. With nothing to change and no
  /// `copy`, this same tensor; else fresh storage. Strides are kept where the
  /// elements lie without gaps (a transposed matrix); else it is contiguous.
  Tensor to(const Device& device, ToOptions options = {}) const;
  Tensor to(DType dtype, ToOptions options = {}) const;
  Tensor to(const Device& device, DType dtype, ToOptions options = {}) const;
  /// As `other` in device and dtype.
  Tensor to(const Tensor& other, ToOptions options = {}) const;
  Tensor cpu() const { return to(Device()); }
  /// A copy in pinned host memory, from and to which devices copy in the
  /// background; itself when pinned. `device` gives the memory: by default the
  /// current one or the first that can. UnsupportedError where none can.
  Tensor pin_memory(std::optional<Device> device = {}) const;
  bool is_pinned() const;
  /// A contiguous tensor of the same values: itself when it is.
  Tensor contiguous() const;
  /// A contiguous copy with storage of its own.
  Tensor clone() const;
  /// Writes `source` (broadcast, converted, moved) into this one's elements.
  /// Refused where elements of this tensor share memory.
  const Tensor& copy_(const Tensor& source) const;
  const Tensor& fill_(Scalar value) const;
  const Tensor& zero_() const { return fill_(0); }
  /// Makes this tensor, seen by every handle to it, what `source` is: storage,
  /// shape, dtype and device. How a module moves.
  void set_data(const Tensor& source) const;

  // ---- Views: share storage ---------------------------------------------
  /// -1 stands for the size that fits. InvalidArgument where it would copy.
  Tensor view(Sizes shape) const;
  /// A view where possible, else a copy.
  Tensor reshape(Sizes shape) const;
  /// One dimension out of `start` to `end`, inclusive.
  Tensor flatten(int64_t start = 0, int64_t end = -1) const;
  Tensor permute(Sizes dims) const;
  Tensor transpose(int64_t d0, int64_t d1) const;
  /// Of a matrix.
  Tensor t() const;
  Tensor squeeze(int64_t d) const;
  Tensor squeeze() const;
  Tensor unsqueeze(int64_t d) const;
  /// Repeats sizes of 1 without copying; -1 keeps a size.
  Tensor expand(Sizes shape) const;
  Tensor narrow(int64_t d, int64_t start, int64_t length) const;
  Tensor select(int64_t d, int64_t index) const;
  /// `step` >= 1; bounds as Python's slices.
  Tensor slice(int64_t d, int64_t start, int64_t end, int64_t step = 1) const;
  Tensor as_strided(Sizes shape, Sizes strides, int64_t storage_offset) const;
  /// Row of the first dimension.
  Tensor operator[](int64_t index) const { return select(0, index); }

  // ---- Indexing: see ferry/indexing.h --------------------------------------
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices,
                           const Tensor& value, bool accumulate = false) const;
  const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices,
                           Scalar value) const;

  // ---- Printing ---------------------------------------------------------
  /// As PyTorch prints it, with dtype and device where not the default.
  std::string str() const;

  // ---- For the layers above ---------------------------------------------
  detail::TensorImpl* impl() const noexcept { return impl_; }
  /// Takes over one reference.
  static Tensor adopt(detail::TensorImpl* impl) noexcept {
    Tensor t;
    t.impl_ = impl;
    return t;
  }

 private:
  void* host_data(DType dtype) const;

  detail::TensorImpl* impl_ = nullptr;
};

FERRY_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// ---- Creation -------------------------------------------------------------
/// Uninitialised. InvalidArgument for negative sizes or more bytes than i64.
FERRY_API Tensor empty(Sizes shape, TensorOptions options = {});
FERRY_API Tensor zeros(Sizes shape, TensorOptions options = {});
FERRY_API Tensor ones(Sizes shape, TensorOptions options = {});
FERRY_API Tensor full(Sizes shape, Scalar value, TensorOptions options = {});
/// start, start + step, ... below end. int64 for integer arguments.
FERRY_API Tensor arange(Scalar start, Scalar end, Scalar step = 1, TensorOptions options = {});
FERRY_API Tensor empty_like(const Tensor& tensor);
FERRY_API Tensor zeros_like(const Tensor& tensor);
/// Copies `numel(shape)` elements of `dtype` from host memory.
FERRY_API Tensor from_host(const void* data, DType dtype, Sizes shape,
                           const Device& device = Device());
/// The values of a vector, as shape [n] or `shape`, on the CPU by default.
template <class T>
Tensor tensor(const std::vector<T>& values, Sizes shape, const Device& device = Device());
template <class T>
Tensor tensor(std::initializer_list<T> values, const Device& device = Device()) {
  const int64_t n = static_cast<int64_t>(values.size());
  return from_host(values.begin(), dtype_of<T>(), {n}, device);
}
/// A CPU tensor over the caller's host memory, without copying. `deleter` is
/// called once, when the last tensor over it is gone.
FERRY_API Tensor from_blob(void* data, Sizes shape, DType dtype,
                           std::function<void(void*)> deleter = {});

FERRY_API void throw_wrong_count(size_t got, ShapeRef shape);

template <class T>
Tensor tensor(const std::vector<T>& values, Sizes shape, const Device& device) {
  int64_t n = 1;
  for (int64_t s : ShapeRef(shape)) n *= s;
  if (n != static_cast<int64_t>(values.size())) throw_wrong_count(values.size(), shape);
  return from_host(values.data(), dtype_of<T>(), shape, device);
}

}  // namespace ferry

#endif  // FERRY_TENSOR_H
