// SPDX-License-Identifier: Apache-2.0
//
// var, std, norm, logsumexp and other reductions made of the basic ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ferry/functional.h"
#include "ops/floating.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;
using ops::require_floating;
using ops::widened;

namespace {

/// Elements that go into one result.
int64_t count_over(const TensorImpl& impl, ShapeRef dims, const char* where) {
  if (dims.empty()) return impl.numel;
  int64_t count = 1;
  for (const int64_t d : dims) {
    count *= impl.shape_[static_cast<size_t>(detail::wrap_dim(d, impl.ndim, where))];
  }
  return count;
}

Tensor var_wide(const Tensor& x, ShapeRef dims, double correction, bool keepdim,
                const char* where) {
  const TensorImpl& impl = impl_of(x, where);
  require_floating(impl.dtype, where);
  const Tensor wide = widened(x);
  const double count = static_cast<double>(count_over(impl, dims, where));
  const Tensor squares = square(wide - mean(wide, dims, true));
  return sum(squares, dims, keepdim) / std::max(0.0, count - correction);
}

ValuesAndIndices extreme(const char* where, bool largest, const Tensor& x, int64_t d,
                         bool keepdim) {
  const TensorImpl& impl = impl_of(x, where);
  (void)detail::wrap_dim(d, impl.ndim, where);
  if (impl.ndim == 0) return {x.clone(), zeros({}, TensorOptions(kI64, x.device()))};
  const Tensor at = largest ? argmax(x, d, true) : argmin(x, d, true);
  const Tensor values = gather(x, d, at);
  return keepdim ? ValuesAndIndices{values, at}
                 : ValuesAndIndices{values.squeeze(d), at.squeeze(d)};
}

}  // namespace

Tensor var(const Tensor& x, Sizes dims, double correction, bool keepdim) {
  return var_wide(x, dims, correction, keepdim, "var").to(x.dtype());
}

Tensor std(const Tensor& x, Sizes dims, double correction, bool keepdim) {
  return sqrt(var_wide(x, dims, correction, keepdim, "std")).to(x.dtype());
}

Tensor norm(const Tensor& x, double p, Sizes dims, bool keepdim) {
  const TensorImpl& impl = impl_of(x, "norm");
  require_floating(impl.dtype, "norm");
  const Tensor size = abs(widened(x));
  Tensor out;
  if (std::isnan(p)) throw InvalidArgument("norm", "p is not a number");
  if (std::isinf(p)) {
    out = p > 0 ? amax(size, dims, keepdim) : amin(size, dims, keepdim);
  } else if (p == 0) {
    out = sum(ne(size, 0).to(size.dtype()), dims, keepdim);
  } else if (p == 1) {
    out = sum(size, dims, keepdim);
  } else if (p == 2) {
    out = sqrt(sum(square(size), dims, keepdim));
  } else {
    out = pow(sum(pow(size, p), dims, keepdim), 1 / p);
  }
  return out.to(impl.dtype);
}

Tensor logsumexp(const Tensor& x, Sizes dims, bool keepdim) {
  const TensorImpl& impl = impl_of(x, "logsumexp");
  require_floating(impl.dtype, "logsumexp");
  if (impl.numel == 0) return log(sum(x, dims, keepdim));
  const Tensor wide = widened(x);
  const Tensor largest = amax(wide, dims, true);
  // An infinite one would make inf - inf of itself.
  const Tensor infinite = eq(abs(largest), std::numeric_limits<double>::infinity());
  const Tensor shift = where(infinite, Scalar(0), largest);
  Tensor out = log(sum(exp(wide - shift), dims, keepdim));
  out = out + shift.reshape(out.impl()->shape());
  return out.to(impl.dtype);
}

Tensor count_nonzero(const Tensor& x, Sizes dims) { return sum(ne(x, 0), dims); }

ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme("max", true, x, dim, keepdim);
}

ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim) {
  return extreme("min", false, x, dim, keepdim);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim, double eps) {
  const char* const where = "cosine_similarity";
  require_floating(impl_of(a, where).dtype, where);
  require_floating(impl_of(b, where).dtype, where);
  const Tensor product = widened(a) * widened(b);
  const int64_t d = detail::wrap_dim(dim, product.dim(), where) - product.dim();
  // An operand with fewer dimensions broadcasts: its own lengths do, too.
  const Shape shape = product.shape();
  const Tensor lengths = maximum(norm(widened(a).expand(shape), 2, {d}), eps) *
                         maximum(norm(widened(b).expand(shape), 2, {d}), eps);
  return (sum(product, {d}) / lengths).to(promote_types(a.dtype(), b.dtype()));
}

}  // namespace ferry
