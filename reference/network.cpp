// SPDX-License-Identifier: Apache-2.0
//
// Loops as the definitions read.
#include "reference/network.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry::reference {

Bounded matmul(const Array& a, const Array& b) {
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  Bounded out{Array({m, n}), Array({m, n})};
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t p = 0; p < k; ++p) {
        const double term = a.at(i * k + p) * b.at(p * n + j);
        out.value.at(i * n + j) += term;
        out.size.at(i * n + j) += std::fabs(term);
      }
    }
  }
  return out;
}

Bounded conv2d(const Array& x, const Array& weight, const Array& bias, const ferry_conv_attr& attr,
               std::vector<int64_t> out_shape) {
  Bounded out{Array(out_shape), Array(out_shape)};
  const int64_t channels = weight.size(1);
  const int64_t per_group = weight.size(0) / attr.groups;
  for (int64_t i = 0; i < static_cast<int64_t>(out.value.data.size()); ++i) {
    const std::vector<int64_t> at = position(out_shape, i);
    const int64_t o = at[1];
    double& value = out.value.at(i);
    double& size = out.size.at(i);
    if (!bias.data.empty()) {
      value = bias.at(o);
      size = std::fabs(value);
    }
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t ky = 0; ky < weight.size(2); ++ky) {
        for (int64_t kx = 0; kx < weight.size(3); ++kx) {
          const int64_t y = at[2] * attr.stride[0] - attr.padding[0] + ky * attr.dilation[0];
          const int64_t xx = at[3] * attr.stride[1] - attr.padding[1] + kx * attr.dilation[1];
          if (y < 0 || y >= x.size(2) || xx < 0 || xx >= x.size(3)) continue;
          const int64_t channel = o / per_group * channels + c;
          const double term = x.at(number_of(x.shape, {at[0], channel, y, xx})) *
                              weight.at(number_of(weight.shape, {o, c, ky, kx}));
          value += term;
          size += std::fabs(term);
        }
      }
    }
  }
  return out;
}

Array pool2d(const Array& x, const ferry_pool_attr& attr, std::vector<int64_t> out_shape) {
  Array out(out_shape);
  for (int64_t i = 0; i < static_cast<int64_t>(out.data.size()); ++i) {
    const std::vector<int64_t> at = position(out_shape, i);
    double largest = -std::numeric_limits<double>::infinity();
    double total = 0;
    double inside = 0;
    double padded = 1;
    for (size_t d = 0; d < 2; ++d) {
      const int64_t begin = at[d + 2] * attr.stride[d] - attr.padding[d];
      const int64_t end = std::min(begin + attr.kernel[d], x.size(d + 2) + attr.padding[d]);
      padded *= static_cast<double>(end - begin);
    }
    for (int64_t ky = 0; ky < attr.kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < attr.kernel[1]; ++kx) {
        const int64_t y = at[2] * attr.stride[0] - attr.padding[0] + ky * attr.dilation[0];
        const int64_t xx = at[3] * attr.stride[1] - attr.padding[1] + kx * attr.dilation[1];
        if (y < 0 || y >= x.size(2) || xx < 0 || xx >= x.size(3)) continue;
        const double v = x.at(number_of(x.shape, {at[0], at[1], y, xx}));
        if (std::isnan(v) || v > largest) largest = std::isnan(largest) ? largest : v;
        total += v;
        inside += 1;
      }
    }
    const double count = attr.count_include_pad != 0 ? padded : inside;
    out.at(i) = attr.op == FERRY_POOL_MAX ? largest : total / count;
  }
  return out;
}

}  // namespace ferry::reference
