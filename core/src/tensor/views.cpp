// SPDX-License-Identifier: Apache-2.0
//
// Views: new shapes and strides over the same storage.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "ferry/error.h"
#include "ferry/tensor.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;
using detail::wrap_dim;

namespace {

/// Sizes or strides of a view being made.
struct Dims {
  std::array<int64_t, FERRY_MAX_DIMS> shape{}, stride{};
  size_t n = 0;

  Dims() = default;
  explicit Dims(const TensorImpl& impl) : shape(impl.shape_), stride(impl.stride_), n(impl.ndim) {}
  void push(int64_t size, int64_t step) {
    shape[n] = size;
    stride[n++] = step;
  }
  void erase(size_t d) {
    std::copy(shape.begin() + d + 1, shape.end(), shape.begin() + d);
    std::copy(stride.begin() + d + 1, stride.end(), stride.begin() + d);
    --n;
  }
};

Tensor make(const TensorImpl& impl, const Dims& dims, int64_t offset, const char* where) {
  return detail::make_view(impl.storage, impl.dtype, {dims.shape.data(), dims.n},
                           {dims.stride.data(), dims.n}, offset, where);
}

using SizeArray = std::array<int64_t, FERRY_MAX_DIMS>;

/// `shape` with its one -1 replaced. InvalidArgument where the count differs.
SizeArray resolve(const TensorImpl& impl, ShapeRef shape, const char* where) {
  SizeArray out{};
  if (shape.size() > out.size()) (void)detail::checked_numel(shape, impl.dtype, where);
  std::copy(shape.begin(), shape.end(), out.begin());
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (out[d] == -1 && !open) {
      open = d;
    } else if (out[d] < 0) {
      throw InvalidArgument(
          where, "shape " + to_string(shape) + " has more than one -1 or a negative size");
    } else if (__builtin_mul_overflow(known, out[d], &known)) {
      throw InvalidArgument(
          where, "shape " + to_string(shape) + " has more elements than 64 bits can count");
    }
  }
  if (open && known != 0 && impl.numel % known == 0) {
    out[*open] = impl.numel / known;
    return out;
  }
  if (open || known != impl.numel) {
    throw InvalidArgument(where, "shape " + to_string(shape) + " does not fit the " +
                                     std::to_string(impl.numel) + " elements of shape " +
                                     to_string(impl.shape()));
  }
  return out;
}

bool is_row_major(const TensorImpl& impl) { return impl.contiguous || impl.numel == 0; }

/// Strides that give `shape` over the same memory, where there are any: each
/// run of dimensions that is contiguous in memory is cut anew.
std::optional<Dims> reshaped(const TensorImpl& impl, ShapeRef shape) {
  Dims out;
  out.n = shape.size();
  size_t to = shape.size();
  for (size_t from = impl.ndim; from > 0;) {
    // One run: dimensions begin..from-1 of the old shape.
    size_t begin = from - 1;
    int64_t count = impl.shape_[begin];
    int64_t base = impl.stride_[begin];
    int64_t reach = base * count;
    while (begin > 0 &&
           (impl.shape_[begin - 1] == 1 || count == 1 || impl.stride_[begin - 1] == reach)) {
      --begin;
      if (impl.shape_[begin] == 1) continue;
      if (count == 1) {
        base = impl.stride_[begin];
        reach = base;
      }
      count *= impl.shape_[begin];
      reach *= impl.shape_[begin];
    }
    int64_t taken = 1;
    while (to > 0 && (taken < count || shape[to - 1] == 1)) {
      --to;
      out.shape[to] = shape[to];
      out.stride[to] = base * taken;
      taken *= shape[to];
    }
    if (taken != count) return std::nullopt;
    from = begin;
  }
  return out;
}

}  // namespace

Tensor Tensor::view(Sizes shape) const {
  const TensorImpl& impl = impl_of(*this, "view");
  const SizeArray sizes = resolve(impl, shape, "view");
  const ShapeRef target(sizes.data(), ShapeRef(shape).size());
  if (is_row_major(impl)) return detail::make_row_major_view(impl, target);
  const auto dims = reshaped(impl, target);
  if (!dims) {
    throw InvalidArgument("view", "shape " + to_string(target) + " needs a copy of shape " +
                                      to_string(impl.shape()) + " with strides " +
                                      to_string(impl.strides()) + "; use reshape()");
  }
  return make(impl, *dims, impl.offset, "view");
}

Tensor Tensor::reshape(Sizes shape) const {
  const TensorImpl& impl = impl_of(*this, "reshape");
  const SizeArray sizes = resolve(impl, shape, "reshape");
  const ShapeRef target(sizes.data(), ShapeRef(shape).size());
  if (is_row_major(impl)) return detail::make_row_major_view(impl, target);
  const auto dims = reshaped(impl, target);
  return dims ? make(impl, *dims, impl.offset, "reshape") : contiguous().view(target);
}

Tensor Tensor::flatten(int64_t start, int64_t end) const {
  const TensorImpl& impl = impl_of(*this, "flatten");
  if (impl.ndim == 0) return reshape({1});
  const auto first = static_cast<size_t>(wrap_dim(start, impl.ndim, "flatten"));
  const auto last = static_cast<size_t>(wrap_dim(end, impl.ndim, "flatten"));
  if (first > last) {
    throw InvalidArgument(
        "flatten", "start " + std::to_string(start) + " comes after end " + std::to_string(end));
  }
  Shape shape(impl.shape_.begin(), impl.shape_.begin() + first);
  int64_t joined = 1;
  for (size_t d = first; d <= last; ++d) {
    if (__builtin_mul_overflow(joined, impl.shape_[d], &joined)) {
      throw InvalidArgument("flatten", "shape " + to_string(impl.shape()) +
                                           " has more elements than 64 bits can count");
    }
  }
  shape.push_back(joined);
  shape.insert(shape.end(), impl.shape_.begin() + last + 1, impl.shape_.begin() + impl.ndim);
  return reshape(shape);
}

Tensor Tensor::permute(Sizes order) const {
  const TensorImpl& impl = impl_of(*this, "permute");
  const ShapeRef dims = order;
  Dims out;
  uint32_t seen = 0;
  bool wrong = dims.size() != impl.ndim;
  for (size_t i = 0; i < dims.size() && !wrong; ++i) {
    const auto d = static_cast<size_t>(wrap_dim(dims[i], impl.ndim, "permute"));
    wrong = (seen >> d & 1) != 0;
    seen |= 1u << d;
    out.push(impl.shape_[d], impl.stride_[d]);
  }
  if (wrong) {
    throw InvalidArgument("permute", to_string(dims) + " does not name each of the " +
                                         std::to_string(impl.ndim) + " dimensions once");
  }
  return make(impl, out, impl.offset, "permute");
}

Tensor Tensor::transpose(int64_t d0, int64_t d1) const {
  const TensorImpl& impl = impl_of(*this, "transpose");
  Dims dims(impl);
  const auto a = static_cast<size_t>(wrap_dim(d0, impl.ndim, "transpose"));
  const auto b = static_cast<size_t>(wrap_dim(d1, impl.ndim, "transpose"));
  std::swap(dims.shape[a], dims.shape[b]);
  std::swap(dims.stride[a], dims.stride[b]);
  return make(impl, dims, impl.offset, "transpose");
}

Tensor Tensor::t() const {
  const TensorImpl& impl = impl_of(*this, "t");
  if (impl.ndim > 2) {
    throw InvalidArgument("t", "shape " + to_string(impl.shape()) +
                                   " has more than 2 dimensions; use transpose() or permute()");
  }
  return impl.ndim < 2 ? *this : transpose(0, 1);
}

Tensor Tensor::squeeze(int64_t d) const {
  const TensorImpl& impl = impl_of(*this, "squeeze");
  const auto at = static_cast<size_t>(wrap_dim(d, impl.ndim, "squeeze"));
  Dims dims(impl);
  if (at < dims.n && dims.shape[at] == 1) dims.erase(at);
  return make(impl, dims, impl.offset, "squeeze");
}

Tensor Tensor::squeeze() const {
  const TensorImpl& impl = impl_of(*this, "squeeze");
  Dims dims;
  for (size_t d = 0; d < impl.ndim; ++d) {
    if (impl.shape_[d] != 1) dims.push(impl.shape_[d], impl.stride_[d]);
  }
  return make(impl, dims, impl.offset, "squeeze");
}

Tensor Tensor::unsqueeze(int64_t d) const {
  const TensorImpl& impl = impl_of(*this, "unsqueeze");
  const auto at = static_cast<size_t>(wrap_dim(d, impl.ndim + 1, "unsqueeze"));
  if (impl.ndim == FERRY_MAX_DIMS) {
    throw InvalidArgument("unsqueeze",
                          "a tensor has at most " + std::to_string(FERRY_MAX_DIMS) + " dimensions");
  }
  Dims dims;
  for (size_t i = 0; i <= impl.ndim; ++i) {
    if (i == at)
      dims.push(1, i < impl.ndim && impl.numel > 0 ? impl.shape_[i] * impl.stride_[i] : 1);
    if (i < impl.ndim) dims.push(impl.shape_[i], impl.stride_[i]);
  }
  return make(impl, dims, impl.offset, "unsqueeze");
}

Tensor Tensor::expand(Sizes shape) const {
  const TensorImpl& impl = impl_of(*this, "expand");
  const ShapeRef target = shape;
  const size_t added = target.size() - std::min<size_t>(target.size(), impl.ndim);
  bool fits = target.size() >= impl.ndim && target.size() <= FERRY_MAX_DIMS;
  Dims dims;
  for (size_t d = 0; fits && d < target.size(); ++d) {
    const bool is_new = d < added;
    const int64_t own = is_new ? 1 : impl.shape_[d - added];
    const int64_t size = target[d] == -1 && !is_new ? own : target[d];
    fits = size >= 0 && (size == own || own == 1);
    dims.push(size, size == own && !is_new ? impl.stride_[d - added] : 0);
  }
  if (!fits) {
    throw InvalidArgument(
        "expand", "shape " + to_string(impl.shape()) + " does not expand to " + to_string(target));
  }
  return make(impl, dims, impl.offset, "expand");
}

Tensor Tensor::narrow(int64_t d, int64_t start, int64_t length) const {
  const TensorImpl& impl = impl_of(*this, "narrow");
  if (impl.ndim == 0) throw InvalidArgument("narrow", "a 0-dim tensor has no dimensions");
  const auto at = static_cast<size_t>(wrap_dim(d, impl.ndim, "narrow"));
  Dims dims(impl);
  const int64_t size = dims.shape[at];
  const int64_t first = start < 0 ? start + size : start;
  if (first < 0 || first > size || length < 0 || length > size - first) {
    throw InvalidArgument("narrow", "start " + std::to_string(start) + " and length " +
                                        std::to_string(length) + " reach outside dimension " +
                                        std::to_string(at) + " of shape " +
                                        to_string(impl.shape()));
  }
  dims.shape[at] = length;
  const bool is_empty = impl.numel == 0 || length == 0;
  return make(impl, dims, impl.offset + (is_empty ? 0 : first * dims.stride[at]), "narrow");
}

Tensor Tensor::select(int64_t d, int64_t index) const {
  const TensorImpl& impl = impl_of(*this, "select");
  if (impl.ndim == 0) throw InvalidArgument("select", "a 0-dim tensor has no dimensions");
  const auto at = static_cast<size_t>(wrap_dim(d, impl.ndim, "select"));
  Dims dims(impl);
  const int64_t size = dims.shape[at];
  const int64_t step = dims.stride[at];
  if (index < -size || index >= size) {
    throw InvalidArgument("select", "index " + std::to_string(index) + " is outside dimension " +
                                        std::to_string(at) + " of shape " +
                                        to_string(impl.shape()));
  }
  dims.erase(at);
  const int64_t row = index < 0 ? index + size : index;
  return make(impl, dims, impl.offset + (impl.numel == 0 ? 0 : row * step), "select");
}

Tensor Tensor::slice(int64_t d, int64_t start, int64_t end, int64_t step) const {
  const TensorImpl& impl = impl_of(*this, "slice");
  if (impl.ndim == 0) throw InvalidArgument("slice", "a 0-dim tensor has no dimensions");
  if (step < 1) throw InvalidArgument("slice", "step " + std::to_string(step) + " is not positive");
  const auto at = static_cast<size_t>(wrap_dim(d, impl.ndim, "slice"));
  Dims dims(impl);
  const int64_t size = dims.shape[at];
  const auto bound = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size); };
  const int64_t first = bound(start);
  const int64_t length = std::max<int64_t>(bound(end) - first, 0);
  // Without an overflow for a huge step.
  dims.shape[at] = length == 0 ? 0 : (length - 1) / step + 1;
  const int64_t own = dims.stride[at];
  const bool is_empty = impl.numel == 0 || length == 0;
  dims.stride[at] = is_empty || dims.shape[at] == 1 ? own : own * step;
  return make(impl, dims, impl.offset + (is_empty ? 0 : first * own), "slice");
}

Tensor Tensor::as_strided(Sizes shape, Sizes strides, int64_t storage_offset) const {
  const TensorImpl& impl = impl_of(*this, "as_strided");
  if (ShapeRef(shape).size() != ShapeRef(strides).size()) {
    throw InvalidArgument("as_strided", "shape " + to_string(shape) + " and strides " +
                                            to_string(strides) + " differ in length");
  }
  return detail::make_view(impl.storage, impl.dtype, shape, strides, storage_offset, "as_strided");
}

}  // namespace ferry
