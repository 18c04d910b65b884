// SPDX-License-Identifier: Apache-2.0
//
// Resizing as Pillow does it. The arithmetic, 22 bits of fraction and a byte
// between the passes, is what makes the results equal to the bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ferry/data/transforms.h"
#include "ferry/error.h"
#include "image.h"

namespace ferry::data {
namespace {

constexpr int kFraction = 22;

/// For each new pixel the first old one and the weights of it and the next.
struct Filter {
  std::vector<int64_t> first, count;
  std::vector<int32_t> weights;
  int64_t width = 0;  ///< weights reserved for each pixel
};

/// Toward zero, also after 0.5 was added: Pillow's rounding.
int64_t cut(double value) { return static_cast<int64_t>(value); }

/// A triangle of radius 1, or of the ratio where the image shrinks.
Filter triangle(int64_t from, int64_t to) {
  Filter f;
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double radius = std::max(ratio, 1.0);
  f.width = static_cast<int64_t>(std::ceil(radius)) * 2 + 1;
  f.first.resize(static_cast<size_t>(to));
  f.count.resize(static_cast<size_t>(to));
  f.weights.assign(static_cast<size_t>(to * f.width), 0);
  std::vector<double> exact(static_cast<size_t>(f.width));
  const double narrow = 1.0 / radius;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * ratio;
    const auto low = std::max<int64_t>(cut(center - radius + 0.5), 0);
    const auto high = std::min<int64_t>(cut(center + radius + 0.5), from);
    double sum = 0;
    for (int64_t j = 0; j < high - low; ++j) {
      const double away = std::abs((static_cast<double>(j + low) - center + 0.5) * narrow);
      exact[static_cast<size_t>(j)] = away < 1 ? 1 - away : 0;
      sum += exact[static_cast<size_t>(j)];
    }
    f.first[static_cast<size_t>(i)] = low;
    f.count[static_cast<size_t>(i)] = high - low;
    for (int64_t j = 0; j < high - low; ++j) {
      const double weight = sum != 0 ? exact[static_cast<size_t>(j)] / sum : 0;
      f.weights[static_cast<size_t>(i * f.width + j)] =
          static_cast<int32_t>(cut(weight * (1 << kFraction) + 0.5));
    }
  }
  return f;
}

uint8_t to_byte(int32_t sum) {
  return static_cast<uint8_t>(std::clamp<int32_t>(sum >> kFraction, 0, 255));
}

/// Rows [n, from] to [n, to].
void resize_rows(const uint8_t* in, uint8_t* out, int64_t n, int64_t from, int64_t to) {
  const Filter f = triangle(from, to);
  for (int64_t row = 0; row < n; ++row, in += from, out += to) {
    for (int64_t i = 0; i < to; ++i) {
      const uint8_t* pixel = in + f.first[static_cast<size_t>(i)];
      const int32_t* weight = f.weights.data() + i * f.width;
      const int64_t count = f.count[static_cast<size_t>(i)];
      int32_t sum = 1 << (kFraction - 1);
      for (int64_t j = 0; j < count; ++j) sum += pixel[j] * weight[j];
      out[i] = to_byte(sum);
    }
  }
}

/// Planes [n, from, width] to [n, to, width], a row at a time, so that the
/// compiler makes vectors of it.
void resize_columns(const uint8_t* in, uint8_t* out, int64_t n, int64_t from, int64_t to,
                    int64_t width) {
  const Filter f = triangle(from, to);
  std::vector<int32_t> sums(static_cast<size_t>(width));
  for (int64_t plane = 0; plane < n; ++plane, in += from * width) {
    for (int64_t i = 0; i < to; ++i, out += width) {
      std::fill(sums.begin(), sums.end(), 1 << (kFraction - 1));
      const int64_t first = f.first[static_cast<size_t>(i)];
      for (int64_t j = 0; j < f.count[static_cast<size_t>(i)]; ++j) {
        const uint8_t* row = in + (first + j) * width;
        const int32_t weight = f.weights[static_cast<size_t>(i * f.width + j)];
        for (int64_t x = 0; x < width; ++x) sums[static_cast<size_t>(x)] += row[x] * weight;
      }
      for (int64_t x = 0; x < width; ++x) out[x] = to_byte(sums[static_cast<size_t>(x)]);
    }
  }
}

}  // namespace

Tensor resize_image(const Tensor& image, int64_t height, int64_t width) {
  Tensor x = checked_image("resize", image, kU8);
  if (height < 1 || width < 1 || height > 65535 || width > 65535)
    throw InvalidArgument("resize", fmt::format("the new size is {} x {}; sides must be in "
                                                "[1, 65535]",
                                                height, width));
  const int64_t channels = x.size(0), old_height = x.size(1), old_width = x.size(2);
  if (x.numel() == 0)
    throw InvalidArgument("resize", fmt::format("the image {} is empty", to_string(x.shape())));
  if (old_width != width) {
    Tensor rows = empty({channels, old_height, width}, {kU8, Device()});
    resize_rows(x.data_ptr<uint8_t>(), rows.data_ptr<uint8_t>(), channels * old_height, old_width,
                width);
    x = std::move(rows);
  }
  if (old_height != height) {
    Tensor planes = empty({channels, height, width}, {kU8, Device()});
    resize_columns(x.data_ptr<uint8_t>(), planes.data_ptr<uint8_t>(), channels, old_height, height,
                   width);
    x = std::move(planes);
  }
  return x;
}

}  // namespace ferry::data
