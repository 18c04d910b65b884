// SPDX-License-Identifier: Apache-2.0
//
// Views that PyTorch has as functions: parts, windows, diagonals.
#include <algorithm>
#include <string>

#include "ferry/error.h"
#include "ferry/shape_ops.h"
#include "ops/map_builder.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;
using detail::wrap_dim;

namespace {

/// `dim` of a tensor that has dimensions.
int64_t existing_dim(const TensorImpl& impl, int64_t dim, const char* where) {
  if (impl.ndim == 0) throw InvalidArgument(where, "a 0-dim tensor has no dimensions");
  return wrap_dim(dim, impl.ndim, where);
}

int64_t size_of(const TensorImpl& impl, int64_t dim) {
  return impl.shape_[static_cast<size_t>(dim)];
}

/// Cuts `dim` at the given places, which ascend from 0 to its size.
std::vector<Tensor> cut(const Tensor& x, int64_t dim, const std::vector<int64_t>& places) {
  std::vector<Tensor> out;
  for (size_t i = 1; i < places.size(); ++i) {
    out.push_back(x.narrow(dim, places[i - 1], places[i] - places[i - 1]));
  }
  return out;
}

std::vector<Tensor> split_evenly(const Tensor& x, int64_t size, int64_t dim) {
  const int64_t n = size_of(*x.impl(), dim);
  std::vector<int64_t> places = {0};
  do places.push_back(size > n - places.back() ? n : places.back() + size);
  while (places.back() < n);
  return cut(x, dim, places);
}

}  // namespace

Tensor movedim(const Tensor& x, Sizes from, Sizes to) {
  const TensorImpl& impl = impl_of(x, "movedim");
  const ShapeRef sources = from;
  const ShapeRef places = to;
  Shape order(impl.ndim, -1);
  uint32_t moved = 0;
  bool good = sources.size() == places.size();
  for (size_t i = 0; good && i < sources.size(); ++i) {
    const int64_t source = wrap_dim(sources[i], impl.ndim, "movedim");
    const int64_t place = wrap_dim(places[i], impl.ndim, "movedim");
    if (impl.ndim == 0) continue;
    good = (moved >> source & 1) == 0 && order[static_cast<size_t>(place)] == -1;
    moved |= 1u << source;
    order[static_cast<size_t>(place)] = source;
  }
  if (!good) {
    throw InvalidArgument("movedim", "dimensions " + to_string(sources) + " and places " +
                                         to_string(places) +
                                         " must be as many, and each named once");
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d != -1) continue;
    while ((moved >> next & 1) != 0) ++next;
    d = next++;
  }
  return x.permute(order);
}

Tensor movedim(const Tensor& x, int64_t from, int64_t to) {
  return movedim(x, Sizes{from}, Sizes{to});
}

Tensor swapaxes(const Tensor& x, int64_t d0, int64_t d1) { return x.transpose(d0, d1); }

Tensor broadcast_to(const Tensor& x, Sizes shape) { return x.expand(shape); }

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim) {
  const TensorImpl& impl = impl_of(x, "split");
  const int64_t d = existing_dim(impl, dim, "split");
  if (size < 0 || (size == 0 && size_of(impl, d) != 0)) {
    throw InvalidArgument("split", "parts of size " + std::to_string(size) + " of dimension " +
                                       std::to_string(d) + " of shape " + to_string(impl.shape()));
  }
  return split_evenly(x, size, d);
}

std::vector<Tensor> split(const Tensor& x, Sizes sizes, int64_t dim) {
  const TensorImpl& impl = impl_of(x, "split");
  const int64_t d = existing_dim(impl, dim, "split");
  std::vector<int64_t> places = {0};
  bool good = true;
  for (const int64_t size : ShapeRef(sizes)) {
    good = good && size >= 0 && size <= size_of(impl, d) - places.back();
    if (good) places.push_back(places.back() + size);
  }
  if (!good || places.back() != size_of(impl, d)) {
    throw InvalidArgument("split", "sizes " + to_string(sizes) + " do not add up to the " +
                                       std::to_string(size_of(impl, d)) + " of dimension " +
                                       std::to_string(d) + " of shape " + to_string(impl.shape()));
  }
  return cut(x, d, places);
}

std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim) {
  const TensorImpl& impl = impl_of(x, "chunk");
  const int64_t d = existing_dim(impl, dim, "chunk");
  if (chunks < 1) {
    throw InvalidArgument("chunk", std::to_string(chunks) + " chunks; at least 1 is needed");
  }
  const int64_t n = size_of(impl, d);
  // As in PyTorch nothing is cut into so many pieces of nothing.
  if (n == 0) return cut(x, d, std::vector<int64_t>(static_cast<size_t>(chunks) + 1, 0));
  return split_evenly(x, (n - 1) / chunks + 1, d);
}

std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim) {
  const TensorImpl& impl = impl_of(x, "tensor_split");
  const int64_t d = existing_dim(impl, dim, "tensor_split");
  if (sections < 1) {
    throw InvalidArgument("tensor_split",
                          std::to_string(sections) + " sections; at least 1 is needed");
  }
  const int64_t n = size_of(impl, d);
  std::vector<int64_t> places = {0};
  for (int64_t i = 0; i < sections; ++i) {
    places.push_back(places.back() + n / sections + (i < n % sections ? 1 : 0));
  }
  return cut(x, d, places);
}

std::vector<Tensor> tensor_split(const Tensor& x, Sizes indices, int64_t dim) {
  const TensorImpl& impl = impl_of(x, "tensor_split");
  const int64_t d = existing_dim(impl, dim, "tensor_split");
  std::vector<Tensor> out;
  int64_t start = 0;
  for (const int64_t end : ShapeRef(indices)) {
    out.push_back(x.slice(d, start, end));
    start = end;
  }
  out.push_back(x.slice(d, start, size_of(impl, d)));
  return out;
}

std::vector<Tensor> unbind(const Tensor& x, int64_t dim) {
  const TensorImpl& impl = impl_of(x, "unbind");
  const int64_t d = existing_dim(impl, dim, "unbind");
  std::vector<Tensor> out;
  for (int64_t i = 0; i < size_of(impl, d); ++i) out.push_back(x.select(d, i));
  return out;
}

Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  const TensorImpl& impl = impl_of(x, "unfold");
  const auto d = static_cast<size_t>(wrap_dim(dim, impl.ndim, "unfold"));
  const int64_t n = impl.ndim == 0 ? 1 : impl.shape_[d];
  if (size < 0 || size > n || step < 1) {
    throw InvalidArgument("unfold", "windows of size " + std::to_string(size) + " and step " +
                                        std::to_string(step) + " do not fit dimension " +
                                        std::to_string(d) + " of shape " + to_string(impl.shape()));
  }
  Shape shape(impl.shape().begin(), impl.shape().end());
  Shape strides(impl.strides().begin(), impl.strides().end());
  const int64_t stride = impl.ndim == 0 ? 1 : impl.stride_[d];
  if (impl.ndim > 0) {
    shape[d] = (n - size) / step + 1;
    // Of one window the step says nothing, and could be beyond 64 bits.
    strides[d] = shape[d] == 1 ? stride : stride * step;
  }
  shape.push_back(size);
  strides.push_back(stride);
  return x.as_strided(shape, strides, impl.offset);
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  const TensorImpl& impl = impl_of(x, "diagonal");
  const auto rows = static_cast<size_t>(existing_dim(impl, dim1, "diagonal"));
  const auto columns = static_cast<size_t>(existing_dim(impl, dim2, "diagonal"));
  if (rows == columns) {
    throw InvalidArgument("diagonal", "dimensions " + std::to_string(dim1) + " and " +
                                          std::to_string(dim2) + " are the same of shape " +
                                          to_string(impl.shape()));
  }
  const int64_t down = offset < 0 ? -std::max(offset, -impl.shape_[rows]) : 0;
  const int64_t right = std::clamp<int64_t>(offset, 0, impl.shape_[columns]);
  const int64_t length = std::min(impl.shape_[rows] - down, impl.shape_[columns] - right);
  Shape shape, strides;
  for (size_t d = 0; d < impl.ndim; ++d) {
    if (d == rows || d == columns) continue;
    shape.push_back(impl.shape_[d]);
    strides.push_back(impl.stride_[d]);
  }
  shape.push_back(length);
  strides.push_back(impl.stride_[rows] + impl.stride_[columns]);
  const int64_t first = down * impl.stride_[rows] + right * impl.stride_[columns];
  return x.as_strided(shape, strides, impl.offset + (impl.numel == 0 || length == 0 ? 0 : first));
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors, std::string_view indexing) {
  if (tensors.empty()) throw InvalidArgument("meshgrid", "there are no tensors");
  if (indexing != "ij" && indexing != "xy") {
    throw InvalidArgument("meshgrid",
                          "indexing '" + std::string(indexing) + "' is neither ij nor xy");
  }
  Shape shape;
  for (const Tensor& t : tensors) {
    const TensorImpl& impl = impl_of(t, "meshgrid");
    ops::common_device({&tensors[0], &t}, "meshgrid");
    ops::require_same_dtype(tensors[0], t, "meshgrid");
    if (impl.ndim > 1) {
      throw InvalidArgument("meshgrid",
                            "the tensors must be 1-D or 0-D, not " + to_string(impl.shape()));
    }
    shape.push_back(impl.numel);
  }
  std::vector<Tensor> out;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Shape own(shape.size(), 1);
    own[i] = shape[i];
    const Tensor grid = tensors[i].reshape(own).expand(shape);
    out.push_back(indexing == "xy" && shape.size() > 1 ? grid.transpose(0, 1) : grid);
  }
  return out;
}

Tensor atleast_1d(const Tensor& x) {
  return impl_of(x, "atleast_1d").ndim == 0 ? x.reshape({1}) : x;
}

Tensor atleast_2d(const Tensor& x) {
  const TensorImpl& impl = impl_of(x, "atleast_2d");
  return impl.ndim < 2 ? atleast_1d(x).unsqueeze(0) : x;
}

Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow(dim, start, length).clone();
}

}  // namespace ferry
