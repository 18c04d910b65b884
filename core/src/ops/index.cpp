// SPDX-License-Identifier: Apache-2.0
//
// index_select, gather, embedding and cat.
#include <algorithm>
#include <string>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"
#include "ops/scatter.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

using ops::as_index;

Tensor launch_gather(const char* where, const Tensor& x, const Tensor& index, size_t axis,
                     uint32_t mode, const Shape& shape) {
  const TensorImpl& impl = *x.impl();
  runtime::DeviceState& device = *impl.storage->device;
  Tensor out = detail::make_empty(device, impl.dtype, shape, where);
  if (out.numel() == 0) return out;
  if (impl.numel == 0) {
    throw InvalidArgument(where,
                          "x of shape " + to_string(impl.shape()) + " is empty: no index is valid");
  }
  const ferry_gather_attr attr = {sizeof(ferry_gather_attr), mode, static_cast<uint32_t>(axis), 0};
  const Tensor in[] = {x, index};
  ops::launch(device, {where, ops::Family::kGather, in, {&out, 1}, &attr});
  return out;
}

Tensor select_rows(const char* where, const Tensor& x, int64_t dim, const Tensor& rows) {
  const TensorImpl& impl = impl_of(x, where);
  const Tensor index = as_index(rows, where);
  ops::common_device({&x, &index}, where);
  if (index.dim() > 1) {
    throw InvalidArgument(where, "the index must be 1-D, not " + to_string(index.impl()->shape()));
  }
  const auto axis = static_cast<size_t>(detail::wrap_dim(dim, impl.ndim, where));
  const Tensor flat = index.dim() == 0 ? index.view({1}) : index;
  if (impl.ndim == 0) {
    return launch_gather(where, x.view({1}), flat, 0, FERRY_GATHER_SELECT, {flat.numel()}).view({});
  }
  Shape shape(impl.shape().begin(), impl.shape().end());
  shape[axis] = flat.numel();
  return launch_gather(where, x, flat, axis, FERRY_GATHER_SELECT, shape);
}

}  // namespace

Tensor ops::as_index(const Tensor& index, const char* where) {
  const TensorImpl& impl = impl_of(index, where);
  if (impl.dtype == kI64) return index;
  if (impl.dtype == kI32) return index.to(kI64);
  throw InvalidArgument(where,
                        "the index must be int64 or int32, not " + std::string(name(impl.dtype)));
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  return select_rows("index_select", x, dim, index);
}

Tensor embedding(const Tensor& weight, const Tensor& index) {
  const TensorImpl& impl = impl_of(weight, "embedding");
  const TensorImpl& rows = impl_of(index, "embedding");
  if (impl.ndim != 2) {
    throw InvalidArgument("embedding", "the weight must be [n, d], not " + to_string(impl.shape()));
  }
  Shape shape(rows.shape().begin(), rows.shape().end());
  shape.push_back(impl.shape_[1]);
  return select_rows("embedding", weight, 0, index.reshape({rows.numel})).view(shape);
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  const TensorImpl& impl = impl_of(x, "gather");
  const Tensor at = as_index(index, "gather");
  ops::common_device({&x, &at}, "gather");
  const TensorImpl& to = *at.impl();
  const auto axis = static_cast<size_t>(detail::wrap_dim(dim, impl.ndim, "gather"));
  bool fits = to.ndim == impl.ndim;
  for (size_t d = 0; fits && d < to.ndim; ++d) fits = d == axis || to.shape_[d] <= impl.shape_[d];
  if (!fits) {
    throw InvalidArgument("gather", "index " + to_string(to.shape()) + " does not fit x " +
                                        to_string(impl.shape()) + " along dimension " +
                                        std::to_string(axis));
  }
  if (to.ndim == 0) {
    return launch_gather("gather", x.view({1}), at.view({1}), 0, FERRY_GATHER_ELEMENT, {1})
        .view({});
  }
  Tensor within = x;
  for (size_t d = 0; d < to.ndim; ++d) {
    if (d != axis && to.shape_[d] < impl.shape_[d]) {
      within = within.narrow(static_cast<int64_t>(d), 0, to.shape_[d]);
    }
  }
  return launch_gather("gather", within, at, axis, FERRY_GATHER_ELEMENT,
                       Shape(to.shape().begin(), to.shape().end()));
}

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) throw InvalidArgument("cat", "there are no tensors to join");
  const Tensor* first = nullptr;
  DType dtype = impl_of(tensors[0], "cat").dtype;
  for (const Tensor& t : tensors) {
    dtype = promote_types(dtype, impl_of(t, "cat").dtype);
    ops::common_device({&tensors[0], &t}, "cat");
    // As in PyTorch an empty [0] goes with every shape.
    const bool filler = t.impl()->ndim == 1 && t.impl()->numel == 0;
    if (first == nullptr || (first->impl()->ndim == 1 && first->impl()->numel == 0 && !filler)) {
      first = &t;
    }
  }
  const TensorImpl& like = *first->impl();
  if (like.ndim == 0) throw InvalidArgument("cat", "0-dim tensors have no dimension to join");
  const auto axis = static_cast<size_t>(detail::wrap_dim(dim, like.ndim, "cat"));
  Shape shape(like.shape().begin(), like.shape().end());
  shape[axis] = 0;
  std::vector<const Tensor*> parts;
  for (const Tensor& t : tensors) {
    const TensorImpl& impl = *t.impl();
    if (impl.ndim == 1 && impl.numel == 0 && like.ndim != 1) continue;
    bool fits = impl.ndim == like.ndim;
    for (size_t d = 0; fits && d < like.ndim; ++d) {
      fits = d == axis || impl.shape_[d] == like.shape_[d];
    }
    if (!fits || __builtin_add_overflow(shape[axis], impl.shape_[axis], &shape[axis])) {
      throw InvalidArgument("cat", "shapes " + to_string(like.shape()) + " and " +
                                       to_string(impl.shape()) + " differ beside dimension " +
                                       std::to_string(axis));
    }
    parts.push_back(&t);
  }
  Tensor out = detail::make_empty(*like.storage->device, dtype, shape, "cat");
  int64_t at = 0;
  for (const Tensor* t : parts) {
    const int64_t size = t->impl()->shape_[axis];
    out.narrow(static_cast<int64_t>(axis), at, size).copy_(*t);
    at += size;
  }
  return out;
}

}  // namespace ferry
