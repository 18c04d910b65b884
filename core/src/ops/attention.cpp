// SPDX-License-Identifier: Apache-2.0
//
// scaled_dot_product_attention and rotary embedding.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ferry/functional.h"
#include "ops/floating.h"
#include "ops/map_builder.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

constexpr const char* kAttention = "scaled_dot_product_attention";

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  ops::require_floating(detail::impl_of(q, kAttention).dtype, kAttention);
  (void)detail::impl_of(k, kAttention);
  (void)detail::impl_of(v, kAttention);
  ops::common_device({&q, &k, &v, &o.mask}, kAttention);
  ops::require_same_dtype(q, k, kAttention);
  ops::require_same_dtype(q, v, kAttention);
  const int64_t dims = q.dim();
  const bool fits = dims >= 2 && k.dim() == dims && v.dim() == dims && q.size(-1) == k.size(-1) &&
                    k.size(-2) == v.size(-2) && q.size(-1) > 0;
  const bool heads =
      fits &&
      (dims < 3 || (k.size(-3) == v.size(-3) && k.size(-3) > 0 && q.size(-3) % k.size(-3) == 0));
  if (!heads) {
    throw InvalidArgument(kAttention,
                          "query [..., H, L, E], key [..., G, S, E] and value [..., G, S, V], G "
                          "dividing H, do not fit the shapes " +
                              ops::both_shapes(q, k) + " and " + to_string(v.shape()));
  }
  if (o.mask.defined() && o.is_causal) {
    throw InvalidArgument(kAttention, "a mask and is_causal exclude each other");
  }
  if (o.mask.defined() && o.mask.dtype() != kBool && !is_floating_point(o.mask.dtype())) {
    throw InvalidArgument(
        kAttention, "the mask must be bool or floating, not " + std::string(name(o.mask.dtype())));
  }
}

/// -inf where nothing is looked at, or plus the mask.
Tensor masked(const Tensor& scores, const AttentionOptions& o) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  if (o.is_causal) {
    const Device device = scores.device();
    const Tensor row = arange(0, scores.size(-2), 1, device).view({scores.size(-2), 1});
    const Tensor column = arange(0, scores.size(-1), 1, device);
    return where(ge(row, column), scores, Scalar(kNever));
  }
  if (!o.mask.defined()) return scores;
  (void)ops::expand_to(o.mask, scores.shape(), kAttention);
  return o.mask.dtype() == kBool ? where(o.mask, scores, Scalar(kNever)) : scores + o.mask;
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  check_attention(query, key, value, options);
  const double scale =
      options.scale ? *options.scale : 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const bool grouped = query.dim() >= 3 && query.size(-3) != key.size(-3);
  Tensor q = query, k = key, v = value;
  if (grouped) {
    // Heads of one group stand beside each other; its key repeats without a copy.
    Shape shape = query.shape();
    const int64_t groups = key.size(-3);
    const int64_t each = query.size(-3) / groups;
    shape[shape.size() - 3] = each;
    shape.insert(shape.end() - 3, groups);
    q = query.reshape(shape);
    k = key.unsqueeze(-3);
    v = value.unsqueeze(-3);
  }
  // Scaled first: half scores would overflow sooner.
  Tensor scores = matmul(mul(q, scale), k.transpose(-1, -2));
  const Shape inner = scores.shape();
  if (grouped && (options.mask.defined() || options.is_causal)) {
    Shape outer = query.shape();
    outer.back() = inner.back();
    scores = masked(scores.reshape(outer), options).reshape(inner);
  } else {
    scores = masked(scores, options);
  }
  const Tensor weights = softmax(scores, -1).to(query.dtype());
  Tensor out = matmul(weights, v);
  if (!grouped) return out;
  Shape shape = query.shape();
  shape.back() = value.size(-1);
  return out.reshape(shape);
}

RotaryTables rotary_tables(int64_t length, int64_t dim, double base, const Device& device) {
  if (length < 0 || dim < 2 || dim % 2 != 0 || !(base > 0)) {
    throw InvalidArgument("rotary_tables", "length " + std::to_string(length) +
                                               " must not be negative, dim " + std::to_string(dim) +
                                               " even and base " + std::to_string(base) +
                                               " above 0");
  }
  const int64_t half = dim / 2;
  const Shape shape = {length, half};
  (void)detail::checked_numel(shape, kF32, "rotary_tables");
  std::vector<float> cosines, sines;
  // In double: far positions times a frequency lose their places in float.
  for (int64_t at = 0; at < length; ++at) {
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(at) *
                           std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(dim));
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return {tensor(cosines, shape, device), tensor(sines, shape, device)};
}

Tensor rotary_embedding(const Tensor& x, const RotaryTables& tables, bool interleaved) {
  const char* const name = "rotary_embedding";
  ops::require_floating(detail::impl_of(x, name).dtype, name);
  (void)detail::impl_of(tables.cos, name);
  (void)detail::impl_of(tables.sin, name);
  ops::common_device({&x, &tables.cos, &tables.sin}, name);
  const Shape want = x.dim() < 2 ? Shape{} : Shape{x.size(-2), x.size(-1) / 2};
  if (x.dim() < 2 || x.size(-1) % 2 != 0 || tables.cos.shape() != want ||
      tables.sin.shape() != want) {
    throw InvalidArgument(name,
                          "x must be [..., length, dim] with an even dim and tables [length, "
                          "dim / 2], not the shapes " +
                              to_string(x.shape()) + ", " +
                              ops::both_shapes(tables.cos, tables.sin));
  }
  const int64_t half = x.size(-1) / 2;
  const Tensor wide = ops::widened(x);
  const Tensor a = interleaved ? wide.slice(-1, 0, 2 * half, 2) : wide.narrow(-1, 0, half);
  const Tensor b = interleaved ? wide.slice(-1, 1, 2 * half, 2) : wide.narrow(-1, half, half);
  const Tensor first = a * tables.cos - b * tables.sin;
  const Tensor second = b * tables.cos + a * tables.sin;
  if (!interleaved) return cat({first, second}, -1).to(x.dtype());
  return cat({first.unsqueeze(-1), second.unsqueeze(-1)}, -1).reshape(x.shape()).to(x.dtype());
}

}  // namespace ferry
