// SPDX-License-Identifier: Apache-2.0
//
// Rearranged copies: flip, roll, repeat, padding, and joining along new
// dimensions. Made of copies between views where the places form ranges.
#include <algorithm>
#include <numeric>
#include <string>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ferry/shape_ops.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;
using detail::wrap_dim;

namespace {

/// x as [before, size, after] around dimension `d`, so that a dimension more can
/// come beside it whatever x has. x is not empty.
Tensor around(const Tensor& x, size_t d) {
  const ShapeRef shape = x.impl()->shape();
  const auto product = [](auto first, auto last) {
    return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
  };
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(d);
  return x.reshape({product(shape.begin(), at), *at, product(at + 1, shape.end())});
}

/// x with rows of `d` in the order that `place_of(i)` gives for i below `count`.
template <class F>
Tensor pick(const Tensor& x, size_t d, int64_t count, F&& place_of) {
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) places[static_cast<size_t>(i)] = place_of(i);
  return index_select(x, static_cast<int64_t>(d), tensor(places, {count}).to(x.device()));
}

Tensor roll_one(const Tensor& x, int64_t shift, size_t d) {
  const int64_t n = x.impl()->shape_[d];
  const int64_t moved = n == 0 ? 0 : (shift % n + n) % n;
  if (x.impl()->numel == 0 || moved == 0) return x;
  const auto dim = static_cast<int64_t>(d);
  return cat({x.narrow(dim, n - moved, moved), x.narrow(dim, 0, n - moved)}, dim);
}

int64_t checked_product(int64_t a, int64_t b, const char* where) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) {
    throw InvalidArgument(where, "the result has more elements than 64 bits can count");
  }
  return out;
}

}  // namespace

Tensor flip(const Tensor& x, Sizes dims) {
  const TensorImpl& impl = impl_of(x, "flip");
  uint32_t seen = 0;
  Tensor out = x;
  for (const int64_t dim : ShapeRef(dims)) {
    const auto d = static_cast<size_t>(wrap_dim(dim, impl.ndim, "flip"));
    if ((seen >> d & 1) != 0) {
      throw InvalidArgument(
          "flip", "dimension " + std::to_string(dim) + " is named twice in " + to_string(dims));
    }
    seen |= 1u << d;
    if (impl.numel == 0 || impl.ndim == 0 || impl.shape_[d] == 1) continue;
    const int64_t n = impl.shape_[d];
    out = pick(out, d, n, [n](int64_t i) { return n - 1 - i; });
  }
  return out.is_same(x) ? x.clone() : out;
}

Tensor roll(const Tensor& x, Sizes shifts, Sizes dims) {
  const TensorImpl& impl = impl_of(x, "roll");
  const ShapeRef by = shifts;
  const ShapeRef along = dims;
  if (by.empty() || (along.empty() ? by.size() != 1 : by.size() != along.size())) {
    throw InvalidArgument("roll", "shifts " + to_string(by) + " and dimensions " +
                                      to_string(along) +
                                      " must be as many; without dimensions there is one shift");
  }
  if (along.empty()) return roll(x.reshape({impl.numel}), by, {0}).view(impl.shape());
  Tensor out = x;
  for (size_t i = 0; i < by.size(); ++i) {
    const auto d = static_cast<size_t>(wrap_dim(along[i], impl.ndim, "roll"));
    if (impl.ndim > 0) out = roll_one(out, by[i], d);
  }
  return out.is_same(x) ? x.clone() : out;
}

Tensor repeat(const Tensor& x, Sizes repeats) {
  const TensorImpl& impl = impl_of(x, "repeat");
  const ShapeRef times = repeats;
  const bool negative = std::any_of(times.begin(), times.end(), [](int64_t r) { return r < 0; });
  if (times.size() < impl.ndim || times.size() > FERRY_MAX_DIMS || negative) {
    throw InvalidArgument("repeat", "repeats " + to_string(times) + " of shape " +
                                        to_string(impl.shape()) +
                                        ": there is one for each dimension at least, and none is "
                                        "negative");
  }
  Shape shape(times.size() - impl.ndim, 1);
  shape.insert(shape.end(), impl.shape().begin(), impl.shape().end());
  Shape whole = shape;
  for (size_t d = 0; d < shape.size(); ++d)
    whole[d] = checked_product(shape[d], times[d], "repeat");
  if (detail::checked_numel(whole, impl.dtype, "repeat") == 0) {
    return empty(whole, TensorOptions(impl.dtype, x.device()));
  }
  Tensor out = x.reshape(shape);
  // From the last dimension on the copies are of the smaller tensors.
  for (size_t d = shape.size(); d-- > 0;) {
    if (times[d] == 1) continue;
    const Tensor rows = around(out, d);
    shape[d] = whole[d];
    out = rows.unsqueeze(1)
              .expand({rows.size(0), times[d], rows.size(1), rows.size(2)})
              .reshape(shape);
  }
  return out.shares_storage(x) ? out.clone() : out;
}

Tensor tile(const Tensor& x, Sizes repeats) {
  const TensorImpl& impl = impl_of(x, "tile");
  const ShapeRef given = repeats;
  Shape times(impl.ndim - std::min<size_t>(impl.ndim, given.size()), 1);
  times.insert(times.end(), given.begin(), given.end());
  return repeat(x, times);
}

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim) {
  const char* const where = "repeat_interleave";
  const TensorImpl& impl = impl_of(x, where);
  if (repeats < 0) {
    throw InvalidArgument(where, std::to_string(repeats) + " repeats; none may be negative");
  }
  if (!dim) return repeat_interleave(x.reshape({impl.numel}), repeats, 0);
  const auto d = static_cast<size_t>(wrap_dim(*dim, impl.ndim, where));
  if (impl.ndim == 0) return repeat_interleave(x.reshape({1}), repeats, 0);
  Shape shape(impl.shape().begin(), impl.shape().end());
  shape[d] = checked_product(shape[d], repeats, where);
  if (detail::checked_numel(shape, impl.dtype, where) == 0) {
    return empty(shape, TensorOptions(impl.dtype, x.device()));
  }
  const Tensor rows = around(x, d);
  const Tensor out =
      rows.unsqueeze(2).expand({rows.size(0), rows.size(1), repeats, rows.size(2)}).reshape(shape);
  return out.shares_storage(x) ? out.clone() : out;
}

Tensor stack(const std::vector<Tensor>& tensors, int64_t dim) {
  if (tensors.empty()) throw InvalidArgument("stack", "there are no tensors to join");
  const TensorImpl& first = impl_of(tensors[0], "stack");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    const TensorImpl& impl = impl_of(t, "stack");
    if (!std::ranges::equal(impl.shape(), first.shape())) {
      throw InvalidArgument("stack", "shapes " + to_string(first.shape()) + " and " +
                                         to_string(impl.shape()) + " differ");
    }
    parts.push_back(t.unsqueeze(dim));
  }
  return cat(parts, wrap_dim(dim, first.ndim + 1, "stack"));
}

Tensor hstack(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw InvalidArgument("hstack", "there are no tensors to join");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(atleast_1d(t));
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}

Tensor vstack(const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw InvalidArgument("vstack", "there are no tensors to join");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(atleast_2d(t));
  return cat(parts, 0);
}

namespace {

/// Before and after dimension `d`, and whether there is any.
struct Margins {
  int64_t before = 0, after = 0;
  bool any() const { return before != 0 || after != 0; }
};

std::vector<Margins> margins_of(const TensorImpl& impl, ShapeRef padding, PadMode mode) {
  std::vector<Margins> out(impl.ndim);
  bool good = padding.size() % 2 == 0 && padding.size() / 2 <= impl.ndim;
  for (size_t i = 0; good && i < padding.size() / 2; ++i) {
    const size_t d = impl.ndim - 1 - i;
    const int64_t n = impl.shape_[d];
    Margins& m = out[d];
    m = {padding[2 * i], padding[2 * i + 1]};
    const int64_t widest = std::max(m.before, m.after);
    int64_t size = 0;
    good = !__builtin_add_overflow(n, m.before, &size) &&
           !__builtin_add_overflow(size, m.after, &size) && size >= 0 && m.before >= -n &&
           m.after >= -n;
    if (mode == PadMode::kReflect) good = good && widest < std::max<int64_t>(n, 1);
    if (mode == PadMode::kCircular) good = good && widest <= n;
    if (mode == PadMode::kReplicate) good = good && (n > 0 || widest <= 0);
  }
  if (!good) {
    throw InvalidArgument("pad", "padding " + to_string(padding) + " does not fit shape " +
                                     to_string(impl.shape()) +
                                     ": two numbers for each dimension from the last on; "
                                     "reflected below the size, circular up to it");
  }
  return out;
}

Tensor pad_constant(const Tensor& x, const std::vector<Margins>& margins, Scalar value) {
  const TensorImpl& impl = *x.impl();
  Tensor inside = x;
  Shape shape(impl.shape().begin(), impl.shape().end());
  for (size_t d = 0; d < shape.size(); ++d) {
    const Margins m = margins[d];
    shape[d] += m.before + m.after;
    const int64_t start = std::max<int64_t>(-m.before, 0);
    const int64_t end = impl.shape_[d] - std::max<int64_t>(-m.after, 0);
    inside = inside.narrow(static_cast<int64_t>(d), start, std::max<int64_t>(end - start, 0));
  }
  Tensor out = empty(shape, TensorOptions(impl.dtype, x.device())).fill_(value);
  Tensor to = out;
  for (size_t d = 0; d < shape.size(); ++d) {
    to = to.narrow(static_cast<int64_t>(d), std::max<int64_t>(margins[d].before, 0),
                   inside.size(static_cast<int64_t>(d)));
  }
  to.copy_(inside);
  return out;
}

int64_t source_of(PadMode mode, int64_t i, int64_t n) {
  switch (mode) {
    case PadMode::kReflect:
      return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
    case PadMode::kCircular:
      return i < 0 ? i + n : i < n ? i : i - n;
    default:
      return std::clamp<int64_t>(i, 0, n - 1);
  }
}

}  // namespace

Tensor pad(const Tensor& x, Sizes padding, PadMode mode, Scalar value) {
  const TensorImpl& impl = impl_of(x, "pad");
  const std::vector<Margins> margins = margins_of(impl, padding, mode);
  if (mode == PadMode::kConstant) return pad_constant(x, margins, value);
  Tensor out = x;
  for (size_t d = 0; d < margins.size(); ++d) {
    if (!margins[d].any()) continue;
    const int64_t n = impl.shape_[d];
    const int64_t before = margins[d].before;
    out = pick(out, d, n + before + margins[d].after,
               [=](int64_t i) { return source_of(mode, i - before, n); });
  }
  return out.is_same(x) ? x.clone() : out;
}

}  // namespace ferry
