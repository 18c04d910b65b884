// SPDX-License-Identifier: Apache-2.0
//
// Sorting, running sums, and what follows from them: unique, bincount,
// searchsorted.
#include <algorithm>
#include <bit>
#include <string>

#include "ferry/error.h"
#include "ferry/indexing.h"
#include "ferry/ops.h"
#include "ferry/sort_ops.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

/// The first `kept` along `d` of x in order; all of them where that is -1.
ValuesAndIndices sorted(const char* where, const Tensor& x, int64_t dim, bool descending,
                        int64_t kept) {
  const TensorImpl& impl = impl_of(x, where);
  const auto d = static_cast<size_t>(detail::wrap_dim(dim, impl.ndim, where));
  if (impl.ndim == 0) {
    ValuesAndIndices line = sorted(where, x.view({1}), 0, descending, kept);
    if (kept == 0) return line;
    return {line.values.view({}), line.indices.view({})};
  }
  Shape shape(impl.shape().begin(), impl.shape().end());
  if (kept != -1) {
    if (kept < 0 || kept > shape[d]) {
      throw InvalidArgument(where, "k " + std::to_string(kept) + " is outside 0.." +
                                       std::to_string(shape[d]) + " of dimension " +
                                       std::to_string(d));
    }
    shape[d] = kept;
  }
  runtime::DeviceState& device = *impl.storage->device;
  const Tensor out[] = {detail::make_empty(device, impl.dtype, shape, where),
                        detail::make_empty(device, kI64, shape, where)};
  if (out[0].impl()->numel > 0) {
    const ferry_sort_attr attr = {sizeof(ferry_sort_attr), static_cast<uint32_t>(d),
                                  descending ? 1u : 0u, 0};
    ops::launch(device, {where, ops::Family::kSort, {&x, 1}, out, &attr});
  }
  return {out[0], out[1]};
}

Tensor scan(const char* where, const Tensor& x, int64_t dim, uint32_t op) {
  const TensorImpl& impl = impl_of(x, where);
  const auto d = static_cast<uint32_t>(detail::wrap_dim(dim, impl.ndim, where));
  runtime::DeviceState& device = *impl.storage->device;
  const DType dtype = is_floating_point(impl.dtype) ? impl.dtype : kI64;
  Tensor out = detail::make_empty(device, dtype, impl.shape(), where);
  if (impl.ndim == 0) return out.copy_(x);
  if (impl.numel == 0) return out;
  const ferry_scan_attr attr = {sizeof(ferry_scan_attr), op, d, 0};
  ops::launch(device, {where, ops::Family::kScan, {&x, 1}, {&out, 1}, &attr});
  return out;
}

}  // namespace

ValuesAndIndices sort(const Tensor& x, int64_t dim, bool descending) {
  return sorted("sort", x, dim, descending, -1);
}

Tensor argsort(const Tensor& x, int64_t dim, bool descending) {
  return sorted("argsort", x, dim, descending, -1).indices;
}

ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  // -1 stands for all in sorted(), not here.
  return sorted("topk", x, dim, largest, k == -1 ? -2 : k);
}

Tensor cumsum(const Tensor& x, int64_t dim) { return scan("cumsum", x, dim, FERRY_SCAN_SUM); }

Tensor cumprod(const Tensor& x, int64_t dim) { return scan("cumprod", x, dim, FERRY_SCAN_PROD); }

Unique unique(const Tensor& x) {
  const TensorImpl& impl = impl_of(x, "unique");
  const int64_t n = impl.numel;
  const TensorOptions integers(kI64, x.device());
  if (n == 0) {
    return {empty({0}, TensorOptions(impl.dtype, x.device())), empty(impl.shape(), integers),
            empty({0}, integers)};
  }
  const auto [ordered, places] = sorted("unique", x.reshape({n}), 0, false, -1);
  // Where a value is not the one before it, a new one begins.
  const Tensor begins = cat({ones({1}, TensorOptions(kBool, x.device())),
                             ne(ordered.narrow(0, 1, n - 1), ordered.narrow(0, 0, n - 1))});
  const Tensor number = cumsum(begins, 0) - 1;
  const Tensor values = masked_select(ordered, begins);
  const Tensor inverse = empty({n}, integers);
  scatter_(inverse, 0, places, number);
  const Tensor counts = zeros({values.numel()}, integers);
  scatter_add_(counts, 0, number, ones({1}, integers).expand({n}));
  return {values, inverse.view(impl.shape()), counts};
}

Tensor bincount(const Tensor& x, const Tensor& weights, int64_t minlength) {
  const TensorImpl& impl = impl_of(x, "bincount");
  if (impl.ndim != 1 || !is_integral(impl.dtype)) {
    throw InvalidArgument("bincount", "x must be 1-D and of integers, not " +
                                          std::string(name(impl.dtype)) + " " +
                                          to_string(impl.shape()));
  }
  if (minlength < 0) {
    throw InvalidArgument("bincount", "minlength " + std::to_string(minlength) + " is negative");
  }
  ops::common_device({&x, &weights}, "bincount");
  if (weights.defined() && !std::ranges::equal(weights.impl()->shape(), impl.shape())) {
    throw InvalidArgument("bincount", "weights " + to_string(weights.impl()->shape()) +
                                          " differ in shape from x " + to_string(impl.shape()));
  }
  const DType dtype = !weights.defined() ? kI64 : weights.dtype() == kF32 ? kF32 : kF64;
  int64_t length = minlength;
  if (impl.numel > 0) {
    const auto least = amin(x).item<int64_t>();
    const auto most = amax(x).item<int64_t>();
    if (least < 0 || most == INT64_MAX) {
      throw InvalidArgument("bincount", std::to_string(least < 0 ? least : most) +
                                            " cannot be counted: it is negative or too large");
    }
    length = std::max(length, most + 1);
  }
  const Tensor out = zeros({length}, TensorOptions(dtype, x.device()));
  const Tensor each = weights.defined()
                          ? weights.to(dtype)
                          : ones({1}, TensorOptions(kI64, x.device())).expand(impl.shape());
  return scatter_add_(out, 0, x.to(kI64), each);
}

namespace {

/// Elements of the sequence at positions of the values' shape.
Tensor look_up(const Tensor& sequence, const Tensor& at) {
  if (sequence.impl()->ndim > 1) return gather(sequence, -1, at);
  return index_select(sequence, 0, at.reshape({at.numel()})).view(at.impl()->shape());
}

}  // namespace

Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool right, bool out_int32) {
  const char* const where = "searchsorted";
  const TensorImpl& line = impl_of(sequence, where);
  const TensorImpl& impl = impl_of(values, where);
  ops::common_device({&sequence, &values}, where);
  ops::require_same_dtype(sequence, values, where);
  bool fits = line.ndim == 1 || (line.ndim > 1 && line.ndim == impl.ndim);
  for (size_t d = 0; fits && line.ndim > 1 && d + 1 < line.ndim; ++d) {
    fits = line.shape_[d] == impl.shape_[d];
  }
  if (!fits) {
    throw InvalidArgument(where,
                          "the sequence must be 1-D or have the values' sizes but for the "
                          "last, not " +
                              to_string(line.shape()) + " for " + to_string(impl.shape()));
  }
  const int64_t n = line.shape_[line.ndim - 1];
  Tensor found = zeros(impl.shape(), TensorOptions(kI64, values.device()));
  if (n > 0 && impl.numel > 0) {
    // Of each value: as many elements as are known to come before it.
    for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); step > 0;
         step /= 2) {
      const Tensor further = found + step;
      const Tensor last = look_up(sequence, minimum(further, n) - 1);
      // So that NaN comes behind all numbers.
      const Tensor stops = right ? gt(last, values) : ge(last, values);
      found = ferry::where(logical_and(le(further, n), logical_not(stops)), further, found);
    }
  }
  return out_int32 ? found.to(kI32) : found;
}

Tensor searchsorted(const Tensor& sequence, Scalar value, bool right, bool out_int32) {
  const TensorImpl& line = impl_of(sequence, "searchsorted");
  if (line.ndim != 1) {
    throw InvalidArgument("searchsorted",
                          "one number needs a 1-D sequence, not shape " + to_string(line.shape()));
  }
  const Tensor number =
      detail::make_empty(*line.storage->device, line.dtype, {}, "searchsorted").fill_(value);
  return searchsorted(sequence, number, right, out_int32);
}

}  // namespace ferry
