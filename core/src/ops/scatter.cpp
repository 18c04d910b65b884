// SPDX-License-Identifier: Apache-2.0
//
// Writing at positions: scatter_, index_add_ and their kin.
#include "ops/scatter.h"

#include <algorithm>
#include <limits>
#include <string>

#include "ferry/error.h"
#include "ferry/indexing.h"
#include "ferry/ops.h"
#include "ops/dispatch.h"
#include "ops/map_builder.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace ops {

Tensor wrap_positions(const Tensor& index, int64_t size, const char* where) {
  const TensorImpl& impl = *index.impl();
  Tensor out = detail::make_empty(*impl.storage->device, kI64, impl.shape(), where);
  MapBuilder program(kI64);
  const Reg at = program.input(index);
  const Reg below = program.step(FERRY_OP_LT, {at, program.constant(0)});
  const Reg inside = program.step(FERRY_OP_GE, {at, program.constant(-size)});
  const Reg wraps = program.step(FERRY_OP_LOGICAL_AND, {below, inside});
  const Reg wrapped = program.step(FERRY_OP_ADD, {at, program.constant(size)});
  program.run(where, *impl.storage->device, program.step(FERRY_OP_WHERE, {wraps, wrapped, at}),
              out);
  return out;
}

void require_positions(const Tensor& index, int64_t size, int64_t dim, const char* where) {
  if (index.impl()->numel == 0) return;
  if (!any(logical_or(lt(index, -size), ge(index, size))).item<bool>()) return;
  for (const int64_t at : index.to_vector<int64_t>()) {
    if (at >= -size && at < size) continue;
    throw InvalidArgument(where, "index " + std::to_string(at) + " is outside dimension " +
                                     std::to_string(dim) + " of size " + std::to_string(size));
  }
}

void refuse_overlap(const Tensor& x, const char* where) {
  const TensorImpl& impl = impl_of(x, where);
  if (!detail::may_overlap_itself(impl.shape(), impl.strides())) return;
  throw InvalidArgument(where, "elements of the target (shape " + to_string(impl.shape()) +
                                   ", strides " + to_string(impl.strides()) +
                                   ") share memory; clone() it first");
}

void scatter_into(const char* where, const Tensor& x, const Tensor& index, const Tensor& source,
                  Scattering how) {
  refuse_overlap(x, where);
  if (source.impl()->numel == 0) return;
  TensorImpl& impl = *x.impl();
  if (impl.numel == 0) {
    throw InvalidArgument(where,
                          "x of shape " + to_string(impl.shape()) + " is empty: no index is valid");
  }
  if (!impl.contiguous) {
    const Tensor dense = x.clone();
    scatter_into(where, dense, index, source, how);
    x.copy_(dense);
    return;
  }
  const ferry_scatter_attr attr = {sizeof(ferry_scatter_attr), how.mode, how.op,
                                   static_cast<uint32_t>(how.axis)};
  const Tensor in[] = {x, index.shares_storage(x) ? index.clone() : index,
                       source.shares_storage(x) ? source.clone() : source};
  launch(*impl.storage->device, {where, Family::kScatter, in, {&x, 1}, &attr});
  impl.version.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace ops

namespace {

/// A 0-dim tensor as one of one element; kernels know no others.
Tensor with_dims(const Tensor& x) { return x.impl()->ndim == 0 ? x.view({1}) : x; }

/// scatter_() and its kin: every position of the index has one of its own in the
/// source.
void scatter_elements(const char* where, const Tensor& x, int64_t dim, const Tensor& index,
                      const Tensor& source, uint32_t op) {
  const TensorImpl& impl = impl_of(x, where);
  const Tensor at = with_dims(ops::as_index(index, where));
  (void)impl_of(source, where);
  ops::common_device({&x, &at, &source}, where);
  ops::require_same_dtype(x, source, where);
  const auto axis = static_cast<size_t>(detail::wrap_dim(dim, impl.ndim, where));
  const Tensor to = with_dims(x);
  const Tensor from = with_dims(source);
  const ShapeRef own = to.impl()->shape();
  const ShapeRef places = at.impl()->shape();
  const ShapeRef given = from.impl()->shape();
  if (at.impl()->numel == 0) return ops::refuse_overlap(x, where);
  bool fits = places.size() == own.size() && places.size() == given.size();
  for (size_t d = 0; fits && d < places.size(); ++d) {
    fits = places[d] <= given[d] && (d == axis || places[d] <= own[d]);
  }
  if (!fits) {
    throw InvalidArgument(where, "index " + to_string(places) + " does not fit x " +
                                     to_string(own) + " and source " + to_string(given) +
                                     " along dimension " + std::to_string(axis));
  }
  Tensor within = from;
  for (size_t d = 0; d < places.size(); ++d) {
    within = within.narrow(static_cast<int64_t>(d), 0, places[d]);
  }
  ops::scatter_into(where, to, at, within, {FERRY_SCATTER_ELEMENT, op, axis});
}

/// index_copy_() and its kin: whole slices.
void scatter_slices(const char* where, const Tensor& x, int64_t dim, const Tensor& index,
                    const Tensor& source, uint32_t op) {
  const TensorImpl& impl = impl_of(x, where);
  const Tensor at = with_dims(ops::as_index(index, where));
  (void)impl_of(source, where);
  ops::common_device({&x, &at, &source}, where);
  ops::require_same_dtype(x, source, where);
  const auto axis = static_cast<size_t>(detail::wrap_dim(dim, impl.ndim, where));
  const Tensor to = with_dims(x);
  const Tensor from = with_dims(source);
  Shape wanted(to.impl()->shape().begin(), to.impl()->shape().end());
  wanted[axis] = at.impl()->numel;
  if (at.impl()->ndim != 1 || !std::ranges::equal(wanted, from.impl()->shape())) {
    throw InvalidArgument(
        where, "index " + to_string(at.impl()->shape()) + " must be 1-D, and the source " +
                   to_string(from.impl()->shape()) + " of shape " + to_string(wanted));
  }
  ops::scatter_into(where, to, at, from, {FERRY_SCATTER_SELECT, op, axis});
}

/// One number in x's dtype, repeated through strides of 0.
Tensor repeated(const Tensor& x, Scalar value, ShapeRef shape, const char* where) {
  const TensorImpl& impl = *x.impl();
  return detail::make_empty(*impl.storage->device, impl.dtype, {}, where)
      .fill_(value)
      .expand(shape);
}

/// What changes nothing when an op meets it.
Scalar identity(uint32_t op, DType dtype) {
  if (op == FERRY_SCATTER_ADD) return 0;
  if (op == FERRY_SCATTER_MUL) return 1;
  const bool least = op == FERRY_SCATTER_MAX;
  if (is_floating_point(dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    return least ? -inf : inf;
  }
  if (dtype == kBool) return !least;
  const int bits = static_cast<int>(item_size(dtype)) * 8;
  if (dtype == kU8) return least ? 0 : 255;
  const auto most = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  return least ? -most - 1 : most;
}

/// x divided by how many values met at each of its places.
void divide_by_counts(const Tensor& x, int64_t dim, const Tensor& index, bool include_self) {
  const char* const where = "scatter_reduce_";
  const TensorImpl& impl = *x.impl();
  const Tensor counts = full(impl.shape(), include_self ? 1 : 0, TensorOptions(kI64, x.device()));
  scatter_elements(where, counts, dim, index, repeated(counts, 1, index.impl()->shape(), where),
                   FERRY_SCATTER_ADD);
  const Tensor out = empty_like(x);
  ops::MapBuilder program(ops::compute_type(impl.dtype == kF64              ? kF64
                                            : is_floating_point(impl.dtype) ? kF32
                                                                            : kI64));
  const ops::Reg total = program.input(x);
  const ops::Reg count =
      program.step(FERRY_OP_MAXIMUM, {program.input(counts), program.constant(1)});
  ops::Reg dividend = total;
  if (!is_floating_point(impl.dtype)) {
    // Rounded down: what is left over is of the divisor's sign.
    dividend =
        program.step(FERRY_OP_SUB, {total, program.step(FERRY_OP_REMAINDER, {total, count})});
  }
  program.run(where, *impl.storage->device, program.step(FERRY_OP_DIV, {dividend, count}), out);
  x.copy_(out);
}

}  // namespace

const Tensor& scatter_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  scatter_elements("scatter_", x, dim, index, source, FERRY_SCATTER_ASSIGN);
  return x;
}

const Tensor& scatter_(const Tensor& x, int64_t dim, const Tensor& index, Scalar value) {
  (void)impl_of(x, "scatter_");
  const Tensor source = repeated(x, value, impl_of(index, "scatter_").shape(), "scatter_");
  scatter_elements("scatter_", x, dim, index, source, FERRY_SCATTER_ASSIGN);
  return x;
}

const Tensor& scatter_add_(const Tensor& x, int64_t dim, const Tensor& index,
                           const Tensor& source) {
  scatter_elements("scatter_add_", x, dim, index, source, FERRY_SCATTER_ADD);
  return x;
}

const Tensor& scatter_reduce_(const Tensor& x, int64_t dim, const Tensor& index,
                              const Tensor& source, std::string_view reduce, bool include_self) {
  const char* const where = "scatter_reduce_";
  constexpr std::pair<std::string_view, uint32_t> kOps[] = {{"sum", FERRY_SCATTER_ADD},
                                                            {"mean", FERRY_SCATTER_ADD},
                                                            {"prod", FERRY_SCATTER_MUL},
                                                            {"amax", FERRY_SCATTER_MAX},
                                                            {"amin", FERRY_SCATTER_MIN}};
  const auto* const found = std::find_if(std::begin(kOps), std::end(kOps),
                                         [&](const auto& op) { return op.first == reduce; });
  if (found == std::end(kOps)) {
    throw InvalidArgument(
        where, "'" + std::string(reduce) + "' is not one of sum, prod, mean, amax, amin");
  }
  const DType dtype = impl_of(x, where).dtype;
  if (reduce == "mean" && dtype == kBool) {
    throw InvalidArgument(where, "the mean of bool is not defined");
  }
  if (!include_self) {
    const Tensor start =
        repeated(x, identity(found->second, dtype), impl_of(index, where).shape(), where);
    scatter_elements(where, x, dim, index, start, FERRY_SCATTER_ASSIGN);
  }
  scatter_elements(where, x, dim, index, source, found->second);
  if (reduce == "mean") divide_by_counts(x, dim, index, include_self);
  return x;
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return scatter_(x.clone(), dim, index, source);
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  return scatter_add_(x.clone(), dim, index, source);
}

Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self) {
  return scatter_reduce_(x.clone(), dim, index, source, reduce, include_self);
}

const Tensor& index_copy_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  scatter_slices("index_copy_", x, dim, index, source, FERRY_SCATTER_ASSIGN);
  return x;
}

const Tensor& index_add_(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                         Scalar alpha) {
  const DType dtype = impl_of(x, "index_add_").dtype;
  (void)impl_of(source, "index_add_");
  if (!is_floating_point(dtype) && alpha.kind() == kF64) {
    throw InvalidArgument("index_add_",
                          "alpha is no integer, and x is " + std::string(name(dtype)));
  }
  ops::require_same_dtype(x, source, "index_add_");
  const bool once = alpha.kind() != kF64 ? alpha.to_int() == 1 : alpha.to_double() == 1;
  scatter_slices("index_add_", x, dim, index, once ? source : mul(source, alpha).to(dtype),
                 FERRY_SCATTER_ADD);
  return x;
}

const Tensor& index_fill_(const Tensor& x, int64_t dim, const Tensor& index, Scalar value) {
  const char* const where = "index_fill_";
  const TensorImpl& impl = impl_of(x, where);
  const Tensor at = with_dims(ops::as_index(index, where));
  const auto axis = static_cast<size_t>(detail::wrap_dim(dim, impl.ndim, where));
  Shape shape(impl.shape().begin(), impl.shape().end());
  if (shape.empty()) shape.push_back(1);
  const Tensor wrapped = ops::wrap_positions(at, shape[axis], where);
  shape[axis] = at.impl()->numel;
  scatter_slices(where, x, dim, wrapped, repeated(x, value, shape, where), FERRY_SCATTER_ASSIGN);
  return x;
}

}  // namespace ferry
