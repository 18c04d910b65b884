// SPDX-License-Identifier: Apache-2.0
//
// interpolate and adaptive_avg_pool2d: one dimension after the other.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ferry/functional.h"
#include "ops/floating.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

/// Steps of input positions for one of output positions, in float as PyTorch
/// computes it: nearest neighbours depend on the last bit.
struct Axis {
  int64_t from, to;
  float step;
};

Axis axis_of(int64_t from, int64_t to, double scale, bool align_corners) {
  if (align_corners) {
    const float step = to > 1 ? static_cast<float>(from - 1) / static_cast<float>(to - 1) : 0.0f;
    return {from, to, step};
  }
  const float step =
      scale > 0 ? static_cast<float>(1 / scale) : static_cast<float>(from) / static_cast<float>(to);
  return {from, to, step};
}

Tensor nearest_along(const Tensor& x, int64_t d, const Axis& axis) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < axis.to; ++i) {
    const auto at = static_cast<int64_t>(std::floor(static_cast<float>(i) * axis.step));
    rows.push_back(std::min(at, axis.from - 1));
  }
  return index_select(x, d, tensor(rows, {axis.to}, x.device()));
}

Tensor linear_along(const Tensor& x, int64_t d, const Axis& axis, bool align_corners) {
  std::vector<int64_t> lower, upper;
  std::vector<float> parts;
  for (int64_t i = 0; i < axis.to; ++i) {
    const auto at = static_cast<float>(i);
    const float place =
        align_corners ? at * axis.step : std::max((at + 0.5f) * axis.step - 0.5f, 0.0f);
    const int64_t below = std::min(static_cast<int64_t>(place), axis.from - 1);
    lower.push_back(below);
    upper.push_back(std::min(below + 1, axis.from - 1));
    parts.push_back(place - static_cast<float>(below));
  }
  Shape shape(static_cast<size_t>(x.dim() - d), 1);
  shape[0] = axis.to;
  const Tensor part = tensor(parts, shape, x.device());
  const Tensor a = index_select(x, d, tensor(lower, {axis.to}, x.device()));
  const Tensor b = index_select(x, d, tensor(upper, {axis.to}, x.device()));
  return a * (1 - part) + b * part;
}

/// Output sizes; `scale` is what was given, or 0.
std::vector<Axis> axes_of(const detail::TensorImpl& x, const InterpolateOptions& o) {
  const size_t spatial = size_t{x.ndim} - 2;
  const bool by_size = !o.size.empty();
  const size_t given = by_size ? o.size.size() : o.scale_factor.size();
  if (by_size == !o.scale_factor.empty() || (given != spatial && (by_size || given != 1))) {
    throw InvalidArgument("interpolate", "give either size or scale_factor, for each of the " +
                                             std::to_string(spatial) + " spatial dimensions of x " +
                                             to_string(x.shape()));
  }
  std::vector<Axis> axes;
  for (size_t d = 0; d < spatial; ++d) {
    const int64_t from = x.shape_[d + 2];
    const double scale = by_size ? 0 : o.scale_factor[given == 1 ? 0 : d];
    const double wanted = std::floor(static_cast<double>(from) * scale);
    if (!by_size && !(wanted >= 1 && wanted < 0x1p31)) {
      throw InvalidArgument("interpolate", "scale_factor " + std::to_string(scale) +
                                               " makes no size of " + std::to_string(from));
    }
    const int64_t to = by_size ? o.size[d] : static_cast<int64_t>(wanted);
    if (to < 1 || to >= int64_t{1} << 31 || from < 1) {
      throw InvalidArgument("interpolate", "sizes must be above 0 and below 2^31: " +
                                               std::to_string(from) + " to " + std::to_string(to));
    }
    axes.push_back(axis_of(from, to, scale, o.align_corners));
  }
  return axes;
}

/// [out, in]: row i averages inputs floor(i in / out) to below ceil((i + 1) in /
/// out).
Tensor averaging(int64_t in, int64_t out, DType dtype, const Device& device) {
  std::vector<double> rows(static_cast<size_t>(in * out));
  for (int64_t i = 0; i < out; ++i) {
    const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    for (int64_t k = begin; k < end; ++k) {
      rows[static_cast<size_t>(i * in + k)] = 1.0 / static_cast<double>(end - begin);
    }
  }
  return tensor(rows, {out, in}, Device()).to(dtype).to(device);
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  const detail::TensorImpl& impl = detail::impl_of(x, "interpolate");
  ops::require_floating(impl.dtype, "interpolate");
  if (impl.ndim < 3 || impl.ndim > 5) {
    throw InvalidArgument("interpolate",
                          "x must be [N, C, ...] with 1 to 3 spatial dimensions, "
                          "not " +
                              to_string(impl.shape()));
  }
  const bool nearest = options.mode == Interpolation::kNearest;
  if (nearest && options.align_corners) {
    throw InvalidArgument("interpolate", "align_corners has a meaning for bilinear only");
  }
  const std::vector<Axis> axes = axes_of(impl, options);
  Tensor out = nearest ? x : ops::widened(x);
  for (size_t d = 0; d < axes.size(); ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    out = nearest ? nearest_along(out, dim, axes[d])
                  : linear_along(out, dim, axes[d], options.align_corners);
  }
  return out.to(impl.dtype);
}

Tensor adaptive_avg_pool2d(const Tensor& x, std::array<int64_t, 2> size) {
  const detail::TensorImpl& impl = detail::impl_of(x, "adaptive_avg_pool2d");
  ops::require_floating(impl.dtype, "adaptive_avg_pool2d");
  constexpr int64_t kMost = int64_t{1} << 31;
  if ((impl.ndim != 3 && impl.ndim != 4) || size[0] < 1 || size[1] < 1 || size[0] >= kMost ||
      size[1] >= kMost || x.size(-1) < 1 || x.size(-2) < 1) {
    throw InvalidArgument("adaptive_avg_pool2d",
                          "x must be [N, C, H, W] or [C, H, W] and the sizes above 0, not " +
                              to_string(impl.shape()) + " to " + to_string(size));
  }
  const int64_t h = x.size(-2), w = x.size(-1);
  if (h % size[0] == 0 && w % size[1] == 0) {
    return avg_pool2d(x, {.kernel = {h / size[0], w / size[1]}});
  }
  const DType wide = impl.dtype == kF64 ? kF64 : kF32;
  const Tensor rows = averaging(h, size[0], wide, x.device());
  const Tensor columns = averaging(w, size[1], wide, x.device());
  return matmul(rows, matmul(x.to(wide), columns.t())).to(impl.dtype);
}

}  // namespace ferry
