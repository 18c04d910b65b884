// SPDX-License-Identifier: Apache-2.0
//
// index() and index_put_(): slices and integers become views; tensors become one
// list of positions along one dimension.
#include "ferry/indexing.h"

#include <algorithm>
#include <string>
#include <vector>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ops/map_builder.h"
#include "ops/scatter.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;
using indexing::TensorIndex;
using Kind = TensorIndex::Kind;
using Indices = std::span<const TensorIndex>;

namespace {

/// Positions along one dimension of the view.
struct Advanced {
  int64_t dim;
  Tensor positions;
};

bool is_mask(const TensorIndex& i, const char* where) {
  return i.kind() == Kind::kTensor && impl_of(i.tensor(), where).dtype == kBool;
}

/// Dimensions of x that an index stands for; of the ellipsis none here.
int64_t taken_by(const TensorIndex& i, const char* where) {
  switch (i.kind()) {
    case Kind::kInteger:
    case Kind::kSlice:
      return 1;
    case Kind::kTensor:
      return is_mask(i, where) ? int64_t{impl_of(i.tensor(), where).ndim} : 1;
    default:
      return 0;
  }
}

/// Goes through the indices from left to right.
class Walk {
 public:
  Walk(const char* where, const Tensor& x, Indices indices)
      : where_(where), x_(*x.impl()), view_(x), rest_(x_.ndim) {
    int ellipses = 0;
    for (const TensorIndex& i : indices) {
      rest_ -= taken_by(i, where);
      ellipses += i.kind() == Kind::kEllipsis ? 1 : 0;
    }
    if (rest_ < 0 || ellipses > 1) {
      throw InvalidArgument(where_, std::to_string(x_.ndim - rest_) + " indices and " +
                                        std::to_string(ellipses) + " ellipses for shape " +
                                        to_string(x_.shape()) +
                                        ": at most one for each dimension, and one ellipsis");
    }
    for (const TensorIndex& i : indices) take(i);
  }

  const Tensor& view() const { return view_; }
  const std::vector<Advanced>& advanced() const { return advanced_; }

 private:
  void take(const TensorIndex& i) {
    switch (i.kind()) {
      case Kind::kNone:
        view_ = view_.unsqueeze(dim_++);
        break;
      case Kind::kEllipsis:
        dim_ += rest_;
        own_ += rest_;
        break;
      case Kind::kInteger:
        take_integer(i.integer());
        break;
      case Kind::kBool:
        take_bool(i.integer() != 0);
        break;
      case Kind::kSlice:
        take_slice(i.slice());
        break;
      case Kind::kTensor:
        take_tensor(i);
        break;
    }
  }

  void take_integer(int64_t at) {
    const int64_t size = own_size();
    if (at < -size || at >= size) {
      throw InvalidArgument(where_, "index " + std::to_string(at) + " is outside dimension " +
                                        std::to_string(own_) + " of size " + std::to_string(size));
    }
    view_ = view_.select(dim_, at);
    ++own_;
  }

  void take_bool(bool value) {
    view_ = view_.unsqueeze(dim_);
    advance(zeros({value ? 1 : 0}, TensorOptions(kI64, view_.device())));
  }

  void take_slice(const indexing::Slice& s) {
    if (s.step < 1) {
      throw InvalidArgument(where_, "step " + std::to_string(s.step) +
                                        " of the slice of dimension " + std::to_string(own_) +
                                        " is not positive; use flip()");
    }
    view_ = view_.slice(dim_++, s.start, s.stop, s.step);
    ++own_;
  }

  void take_tensor(const TensorIndex& i) {
    const Tensor& tensor = i.tensor();
    if (is_mask(i, where_)) return take_mask(tensor);
    const Tensor at = ops::as_index(tensor, where_);
    // As in PyTorch such a tensor is a number.
    if (at.impl()->ndim == 0) return take_integer(at.item<int64_t>());
    const int64_t size = own_size();
    const Tensor here = at.to(view_.device());
    ops::require_positions(here, size, own_++, where_);
    advance(ops::wrap_positions(here, size, where_));
  }

  void take_mask(const Tensor& mask) {
    const TensorImpl& m = *mask.impl();
    if (m.ndim == 0) return take_bool(mask.item<bool>());
    for (size_t d = 0; d < m.ndim; ++d) {
      if (m.shape_[d] == x_.shape_[static_cast<size_t>(own_) + d]) continue;
      throw InvalidArgument(where_, "the mask of shape " + to_string(m.shape()) +
                                        " does not fit dimension " +
                                        std::to_string(own_ + static_cast<int64_t>(d)) +
                                        " of shape " + to_string(x_.shape()));
    }
    const Tensor places = nonzero(mask).to(view_.device());
    for (int64_t d = 0; d < m.ndim; ++d) advance(places.select(1, d));
    own_ += m.ndim;
  }

  void advance(const Tensor& positions) { advanced_.push_back({dim_++, positions}); }
  int64_t own_size() const { return x_.shape_[static_cast<size_t>(own_)]; }

  const char* where_;
  const TensorImpl& x_;
  Tensor view_;
  int64_t rest_;     // dimensions for the ellipsis
  int64_t dim_ = 0;  // the next one of the view
  int64_t own_ = 0;  // the next one of x
  std::vector<Advanced> advanced_;
};

/// Index tensors as one list of positions along one dimension.
struct Plan {
  Tensor base;   ///< the view, with the dimensions that they index side by side
  Shape merged;  ///< its shape with those as one dimension
  Shape result;  ///< with the index tensors' shape in its place
  int64_t dim;   ///< that dimension
  Tensor flat;   ///< int64 [n]
  int64_t numel() const {
    int64_t n = 1;
    for (const int64_t s : result) n *= s;
    return n;
  }
};

Shape replaced(ShapeRef shape, int64_t dim, size_t count, ShapeRef by) {
  Shape out(shape.begin(), shape.begin() + dim);
  out.insert(out.end(), by.begin(), by.end());
  out.insert(out.end(), shape.begin() + dim + static_cast<int64_t>(count), shape.end());
  return out;
}

Plan plan_of(const char* where, const Walk& walk) {
  const std::vector<Advanced>& list = walk.advanced();
  const auto k = static_cast<int64_t>(list.size());
  const bool adjacent = list.back().dim - list.front().dim == k - 1;
  Plan plan{walk.view(), {}, {}, adjacent ? list.front().dim : 0, {}};
  if (!adjacent) {
    Shape order;
    for (const Advanced& a : list) order.push_back(a.dim);
    for (int64_t d = 0; d < walk.view().dim(); ++d) {
      if (std::find(order.begin(), order.end(), d) == order.end()) order.push_back(d);
    }
    plan.base = walk.view().permute(order);
  }
  std::vector<ShapeRef> shapes;
  for (const Advanced& a : list) shapes.push_back(a.positions.impl()->shape());
  const Shape broad = ops::broadcast_shapes(shapes, where);
  const ShapeRef base = plan.base.impl()->shape();
  plan.result = replaced(base, plan.dim, list.size(), broad);
  if (detail::checked_numel(plan.result, plan.base.dtype(), where) == 0) return plan;
  // Sizes of the base are not 0 here, so their product is one that exists.
  Tensor linear;
  int64_t joined = 1;
  for (size_t i = 0; i < list.size(); ++i) {
    const int64_t size = base[static_cast<size_t>(plan.dim) + i];
    joined *= size;
    linear = i == 0 ? list[i].positions : linear * size + list[i].positions;
  }
  plan.flat = ops::expand_to(linear, broad, where).reshape({-1});
  plan.merged = replaced(base, plan.dim, list.size(), std::span<const int64_t>(&joined, 1));
  return plan;
}

void put(const char* where, const Tensor& x, const Plan& plan, const Tensor& value,
         bool accumulate) {
  const Tensor merged = plan.base.reshape(plan.merged);
  Shape flat = plan.merged;
  flat[static_cast<size_t>(plan.dim)] = plan.flat.numel();
  const Tensor source = ops::expand_to(value, plan.result, where).reshape(flat);
  const uint32_t op = accumulate ? FERRY_SCATTER_ADD : FERRY_SCATTER_ASSIGN;
  ops::scatter_into(where, merged, plan.flat, source,
                    {FERRY_SCATTER_SELECT, op, static_cast<size_t>(plan.dim)});
  // Where the dimensions do not lie one after the other in memory that was a copy.
  if (!merged.shares_storage(x)) plan.base.copy_(merged.reshape(plan.base.impl()->shape()));
}

/// `value` on x's device, in its dtype, without sizes of 1 before `ndim` others.
Tensor fitting(const char* where, const Tensor& x, const Tensor& value, size_t ndim) {
  const TensorImpl& given = impl_of(value, where);
  if (given.ndim > 0) ops::common_device({&x, &value}, where);
  Tensor out = value.to(x.device(), x.dtype());
  while (out.impl()->ndim > ndim && out.impl()->shape_[0] == 1) out = out.squeeze(0);
  return out;
}

/// One mask for the first dimensions and one value need no positions.
bool put_by_mask(const char* where, const Tensor& x, Indices indices, const Tensor& value) {
  const bool alone =
      indices.size() == 1 || (indices.size() == 2 && indices[1].kind() == Kind::kEllipsis);
  if (!alone || !is_mask(indices[0], where) || impl_of(value, where).numel != 1) return false;
  const TensorImpl& impl = *x.impl();
  const Tensor& mask = indices[0].tensor();
  const ShapeRef own = mask.impl()->shape();
  if (own.empty() || own.size() > impl.ndim || value.dim() > x.dim() ||
      !std::equal(own.begin(), own.end(), impl.shape().begin())) {
    return false;
  }
  Shape shape(own.begin(), own.end());
  shape.resize(impl.ndim, 1);
  const Tensor number = fitting(where, x, value, 0).reshape({});
  masked_fill_(x, mask.to(x.device()).reshape(shape), number);
  return true;
}

Tensor read(const char* where, const Tensor& x, Indices indices) {
  (void)impl_of(x, where);
  const Walk walk(where, x, indices);
  if (walk.advanced().empty()) return walk.view();
  const Plan plan = plan_of(where, walk);
  if (!plan.flat.defined()) return empty(plan.result, TensorOptions(x.dtype(), x.device()));
  return index_select(plan.base.reshape(plan.merged), plan.dim, plan.flat).view(plan.result);
}

void write(const char* where, const Tensor& x, Indices indices, const Tensor& value,
           bool accumulate) {
  ops::refuse_overlap(x, where);
  if (!accumulate && put_by_mask(where, x, indices, value)) return;
  const Walk walk(where, x, indices);
  if (walk.advanced().empty()) {
    const Tensor& to = walk.view();
    const Tensor from = fitting(where, x, value, to.impl()->ndim);
    const Tensor broad = ops::expand_to(from, to.impl()->shape(), where);
    to.copy_(accumulate ? to + broad : broad);
    return;
  }
  const Plan plan = plan_of(where, walk);
  const Tensor from = fitting(where, x, value, plan.result.size());
  (void)ops::expand_to(from, plan.result, where);
  if (plan.flat.defined()) put(where, x, plan, from, accumulate);
}

}  // namespace

Tensor index(const Tensor& x, Indices indices) { return read("index", x, indices); }

Tensor index(const Tensor& x, std::initializer_list<TensorIndex> indices) {
  return read("index", x, {indices.begin(), indices.size()});
}

const Tensor& index_put_(const Tensor& x, Indices indices, const Tensor& value, bool accumulate) {
  write("index_put_", x, indices, value, accumulate);
  return x;
}

const Tensor& index_put_(const Tensor& x, std::initializer_list<TensorIndex> indices,
                         const Tensor& value, bool accumulate) {
  return index_put_(x, Indices(indices.begin(), indices.size()), value, accumulate);
}

const Tensor& index_put_(const Tensor& x, std::initializer_list<TensorIndex> indices,
                         Scalar value) {
  const TensorImpl& impl = impl_of(x, "index_put_");
  const Tensor number =
      detail::make_empty(*impl.storage->device, impl.dtype, {}, "index_put_").fill_(value);
  return index_put_(x, Indices(indices.begin(), indices.size()), number);
}

Tensor Tensor::index(std::initializer_list<TensorIndex> indices) const {
  return ferry::index(*this, indices);
}

const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& value,
                                 bool accumulate) const {
  ferry::index_put_(*this, indices, value, accumulate);
  return *this;
}

const Tensor& Tensor::index_put_(std::initializer_list<TensorIndex> indices, Scalar value) const {
  ferry::index_put_(*this, indices, value);
  return *this;
}

Tensor take(const Tensor& x, const Tensor& index) {
  const TensorImpl& impl = impl_of(x, "take");
  const Tensor at = ops::as_index(index, "take");
  ops::common_device({&x, &at}, "take");
  ops::require_positions(at, impl.numel, 0, "take");
  const Tensor places = ops::wrap_positions(at, impl.numel, "take").view({at.numel()});
  return index_select(x.reshape({impl.numel}), 0, places).view(at.impl()->shape());
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, std::optional<int64_t> dim) {
  const char* const where = "take_along_dim";
  const TensorImpl& impl = impl_of(x, where);
  const TensorImpl& at = impl_of(index, where);
  if (!dim) return gather(x.reshape({impl.numel}), 0, index.reshape({at.numel}));
  const auto d = static_cast<size_t>(detail::wrap_dim(*dim, impl.ndim, where));
  if (at.ndim != impl.ndim) {
    throw InvalidArgument(where, "index " + to_string(at.shape()) + " and x " +
                                     to_string(impl.shape()) + " differ in dimensions");
  }
  if (impl.ndim == 0) return gather(x, 0, index);
  Shape own(impl.shape().begin(), impl.shape().end());
  Shape places(at.shape().begin(), at.shape().end());
  own[d] = places[d] = 1;
  const ShapeRef shapes[] = {own, places};
  own = places = ops::broadcast_shapes(shapes, where);
  own[d] = impl.shape_[d];
  places[d] = at.shape_[d];
  return gather(x.expand(own), *dim, index.expand(places));
}

}  // namespace ferry
