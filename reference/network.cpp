// SPDX-License-Identifier: Apache-2.0
//
// Loops as the definitions read.
#include "reference/network.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry::reference {
namespace {

using Position = std::vector<int64_t>;

/// The last `n` sizes of a shape.
Position last(const Position& shape, size_t n) {
  return {shape.end() - static_cast<int64_t>(n), shape.end()};
}

/// Where position `k` of the window of output position `at` lies in x, without
/// the first two dimensions; empty where that is outside.
template <class Attr>
Position in_window(const Array& x, const Attr& attr, const Position& at, const Position& k) {
  Position out(attr.spatial);
  for (size_t d = 0; d < out.size(); ++d) {
    out[d] = at[d + 2] * attr.stride[d] - attr.padding[d] + k[d] * attr.dilation[d];
    if (out[d] < 0 || out[d] >= x.shape[d + 2]) return {};
  }
  return out;
}

/// The element at [n, c, spatial...].
double element(const Array& x, int64_t n, int64_t c, const Position& spatial) {
  Position at = {n, c};
  at.insert(at.end(), spatial.begin(), spatial.end());
  return x.at(number_of(x.shape, at));
}

/// The matrix of a batched operand that takes part at batch position `at`.
int64_t matrix_of(const Array& x, const Position& at) {
  const size_t batches = x.shape.size() - 2;
  int64_t out = 0;
  for (size_t d = 0; d < batches; ++d) {
    const int64_t size = x.shape[d];
    out = out * size + (size == 1 ? 0 : at[at.size() - batches + d]);
  }
  return out;
}

}  // namespace

Bounded matmul(const Array& a, const Array& b) {
  const int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  Position batch(std::max(a.shape.size(), b.shape.size()) - 2, 1);
  for (const Array* x : {&a, &b}) {
    const size_t own = x->shape.size() - 2;
    for (size_t d = 0; d < own; ++d) {
      int64_t& size = batch[batch.size() - own + d];
      if (size == 1) size = x->shape[d];
    }
  }
  Position shape = batch;
  shape.push_back(m);
  shape.push_back(n);
  Bounded out{Array(shape), Array(shape)};
  for (int64_t i = 0; i < static_cast<int64_t>(out.value.data.size()); ++i) {
    const Position at = position(batch, i / (m * n));
    const int64_t row = (matrix_of(a, at) * m + i / n % m) * k;
    const int64_t column = matrix_of(b, at) * k * n + i % n;
    for (int64_t p = 0; p < k; ++p) {
      const double term = a.at(row + p) * b.at(column + p * n);
      out.value.at(i) += term;
      out.size.at(i) += std::fabs(term);
    }
  }
  return out;
}

Bounded conv(const Array& x, const Array& weight, const Array& bias, const ferry_conv_attr& attr,
             std::vector<int64_t> out_shape) {
  Bounded out{Array(out_shape), Array(out_shape)};
  const int64_t channels = weight.size(1);
  const int64_t per_group = weight.size(0) / attr.groups;
  const Position kernel = last(weight.shape, attr.spatial);
  const int64_t window = Array::count(kernel);
  for (int64_t i = 0; i < static_cast<int64_t>(out.value.data.size()); ++i) {
    const Position at = position(out_shape, i);
    const int64_t o = at[1];
    double& value = out.value.at(i);
    double& size = out.size.at(i);
    if (!bias.data.empty()) {
      value = bias.at(o);
      size = std::fabs(value);
    }
    for (int64_t number = 0; number < window; ++number) {
      const Position k = position(kernel, number);
      const Position from = in_window(x, attr, at, k);
      if (from.empty()) continue;
      for (int64_t c = 0; c < channels; ++c) {
        const double term =
            element(x, at[0], o / per_group * channels + c, from) * element(weight, o, c, k);
        value += term;
        size += std::fabs(term);
      }
    }
  }
  return out;
}

Array pool(const Array& x, const ferry_pool_attr& attr, std::vector<int64_t> out_shape) {
  Array out(out_shape);
  const Position kernel(attr.kernel, attr.kernel + attr.spatial);
  const int64_t window = Array::count(kernel);
  for (int64_t i = 0; i < static_cast<int64_t>(out.data.size()); ++i) {
    const Position at = position(out_shape, i);
    double largest = -std::numeric_limits<double>::infinity();
    double total = 0;
    double inside = 0;
    double padded = 0;
    for (int64_t number = 0; number < window; ++number) {
      const Position k = position(kernel, number);
      bool within = true;
      for (size_t d = 0; d < k.size(); ++d) {
        const int64_t p = at[d + 2] * attr.stride[d] + k[d] * attr.dilation[d];
        within = within && p < x.shape[d + 2] + 2 * attr.padding[d];
      }
      padded += within ? 1 : 0;
      const Position from = in_window(x, attr, at, k);
      if (from.empty()) continue;
      const double v = element(x, at[0], at[1], from);
      if (std::isnan(v) || v > largest) largest = std::isnan(largest) ? largest : v;
      total += v;
      inside += 1;
    }
    const double count = attr.count_include_pad != 0 ? padded : inside;
    out.at(i) = attr.op == FERRY_POOL_MAX ? largest : total / count;
  }
  return out;
}

Array batch_norm(const Array& x, const Array& mean, const Array& var, const Array& weight,
                 const Array& bias, double eps) {
  Array out = x;
  for (int64_t i = 0; i < static_cast<int64_t>(x.data.size()); ++i) {
    const int64_t c = position(x.shape, i)[1];
    double& v = out.at(i);
    v = (x.at(i) - mean.at(c)) / std::sqrt(var.at(c) + eps);
    if (!weight.data.empty()) v *= weight.at(c);
    if (!bias.data.empty()) v += bias.at(c);
  }
  return out;
}

Array gather_select(const Array& x, const std::vector<int64_t>& index, size_t axis) {
  Position shape = x.shape;
  shape[axis] = static_cast<int64_t>(index.size());
  Array out(shape);
  for (int64_t i = 0; i < static_cast<int64_t>(out.data.size()); ++i) {
    Position at = position(shape, i);
    at[axis] = index[static_cast<size_t>(at[axis])];
    out.at(i) = x.at(number_of(x.shape, at));
  }
  return out;
}

Array gather_element(const Array& x, const Array& index, size_t axis) {
  Array out(index.shape);
  for (int64_t i = 0; i < static_cast<int64_t>(out.data.size()); ++i) {
    Position at = position(index.shape, i);
    at[axis] = static_cast<int64_t>(index.at(i));
    out.at(i) = x.at(number_of(x.shape, at));
  }
  return out;
}

}  // namespace ferry::reference
