// SPDX-License-Identifier: Apache-2.0
//
// bmm, mv, addmm and baddbmm: matmul() with fixed shapes.
#include <string>

#include "ferry/functional.h"
#include "ops/floating.h"
#include "ops/map_builder.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

Tensor checked_product(const char* where, const Tensor& a, const Tensor& b, int64_t a_dims,
                       int64_t b_dims) {
  const detail::TensorImpl& left = detail::impl_of(a, where);
  const detail::TensorImpl& right = detail::impl_of(b, where);
  const bool batches = a_dims == 3;
  if (left.ndim != a_dims || right.ndim != b_dims ||
      (batches && left.shape_[0] != right.shape_[0])) {
    throw InvalidArgument(where, "operands must have " + std::to_string(a_dims) + " and " +
                                     std::to_string(b_dims) + " dimensions" +
                                     (batches ? " and one batch size" : "") + ", not the shapes " +
                                     ops::both_shapes(a, b));
  }
  return matmul(a, b);
}

Tensor with_summand(const char* where, const Tensor& c, const Tensor& product, Scalar beta,
                    Scalar alpha) {
  const detail::TensorImpl& summand = detail::impl_of(c, where);
  (void)ops::expand_to(c, product.impl()->shape(), where);
  if (summand.dtype != product.dtype()) ops::require_same_dtype(c, product, where);
  if (!is_floating_point(product.dtype()) && (alpha.kind() == kF64 || beta.kind() == kF64)) {
    throw InvalidArgument(where, "integer operands need integer alpha and beta");
  }
  const bool scales = alpha.to_double() != 1;
  Tensor scaled = scales ? mul(product, alpha) : product;
  if (beta.to_double() == 0) return scaled;
  return add(beta.to_double() == 1 ? c : mul(c, beta), scaled);
}

}  // namespace

Tensor bmm(const Tensor& a, const Tensor& b) { return checked_product("bmm", a, b, 3, 3); }

Tensor mv(const Tensor& a, const Tensor& b) { return checked_product("mv", a, b, 2, 1); }

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  return with_summand("addmm", c, checked_product("addmm", a, b, 2, 2), beta, alpha);
}

Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
  return with_summand("baddbmm", c, checked_product("baddbmm", a, b, 3, 3), beta, alpha);
}

}  // namespace ferry
