// SPDX-License-Identifier: Apache-2.0
//
// Transforms of images that are loops over bytes and floats.
#include "ferry/data/transforms.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "ferry/error.h"
#include "image.h"

namespace ferry::data {

Tensor checked_image(const char* where, const Tensor& image, DType dtype) {
  if (!image.defined() || image.device() != Device() || image.dtype() != dtype ||
      image.dim() != 3) {
    throw InvalidArgument(
        where, image.defined()
                   ? fmt::format("got {} {} on {}; an image is {} [channels, height, width] on "
                                 "the cpu here",
                                 name(image.dtype()), to_string(image.shape()),
                                 image.device().str(), name(dtype))
                   : std::string("the image is undefined"));
  }
  return image.contiguous();
}

namespace transforms {
namespace {

void check_size(const char* where, int64_t height, int64_t width) {
  if (height < 1 || width < 1 || height > 65535 || width > 65535)
    throw InvalidArgument(
        where, fmt::format("the size is {} x {}; sides must be in [1, 65535]", height, width));
}

void check_probability(const char* where, double p) {
  if (!(p >= 0 && p <= 1))
    throw InvalidArgument(where, fmt::format("p is {}; it must be in [0, 1]", p));
}

/// In [0, count).
int64_t draw(int64_t count, const Generator& g) {
  return randint(0, count, {1}, {kI64, Device()}, g).data_ptr<int64_t>()[0];
}

/// A rectangle that may reach beyond the image, where zeros are.
Tensor crop(const Tensor& x, int64_t top, int64_t left, int64_t height, int64_t width) {
  const int64_t channels = x.size(0), rows = x.size(1), columns = x.size(2);
  Tensor out = empty({channels, height, width}, {kU8, Device()});
  if (out.numel() == 0) return out;
  const auto* from = x.data_ptr<uint8_t>();
  auto* to = out.data_ptr<uint8_t>();
  std::memset(to, 0, static_cast<size_t>(out.numel()));
  const int64_t first = std::max<int64_t>(left, 0);
  const int64_t last = std::min(left + width, columns);
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = std::max<int64_t>(top, 0); y < std::min(top + height, rows); ++y) {
      if (last > first)
        std::memcpy(to + (c * height + y - top) * width + first - left,
                    from + (c * rows + y) * columns + first, static_cast<size_t>(last - first));
    }
  }
  return out;
}

Tensor flip_rows(const Tensor& x) {
  Tensor out = empty(x.shape(), {kU8, Device()});
  const int64_t width = x.size(2);
  const auto* from = x.data_ptr<uint8_t>();
  auto* to = out.data_ptr<uint8_t>();
  for (int64_t row = 0; row < x.size(0) * x.size(1); ++row)
    std::reverse_copy(from + row * width, from + (row + 1) * width, to + row * width);
  return out;
}

Tensor flip_columns(const Tensor& x) {
  Tensor out = empty(x.shape(), {kU8, Device()});
  const int64_t height = x.size(1), width = x.size(2);
  for (int64_t c = 0; c < x.size(0); ++c) {
    const auto* from = x.data_ptr<uint8_t>() + c * height * width;
    auto* to = out.data_ptr<uint8_t>() + c * height * width;
    for (int64_t y = 0; y < height; ++y)
      std::copy_n(from + y * width, width, to + (height - 1 - y) * width);
  }
  return out;
}

bool happens(double p, const Generator& g) {
  return rand({1}, {kF64, Device()}, g).data_ptr<double>()[0] < p;
}

}  // namespace

Transform compose(std::vector<Transform> steps) {
  for (const Transform& step : steps)
    if (!step) throw InvalidArgument("compose", "a step is empty");
  return [steps = std::move(steps)](const Tensor& x, const Generator& g) {
    Tensor y = x;
    for (const Transform& step : steps) y = step(y, g);
    return y;
  };
}

Transform resize(int64_t height, int64_t width) {
  check_size("resize", height, width);
  return [=](const Tensor& x, const Generator&) { return resize_image(x, height, width); };
}

Transform resize(int64_t size) {
  check_size("resize", size, size);
  return [=](const Tensor& image, const Generator&) {
    const Tensor x = checked_image("resize", image, kU8);
    const int64_t height = x.size(1), width = x.size(2);
    const int64_t shorter = std::max<int64_t>(std::min(height, width), 1);
    return resize_image(x, height <= width ? size : size * height / shorter,
                        width <= height ? size : size * width / shorter);
  };
}

Transform center_crop(int64_t height, int64_t width) {
  check_size("center_crop", height, width);
  return [=](const Tensor& image, const Generator&) {
    const Tensor x = checked_image("center_crop", image, kU8);
    const int64_t rows = x.size(1) - height, columns = x.size(2) - width;
    if (rows < 0 || columns < 0)
      throw InvalidArgument("center_crop", fmt::format("an image of {} x {} is smaller than "
                                                       "{} x {}; resize it first",
                                                       x.size(1), x.size(2), height, width));
    const auto half = [](int64_t rest) {
      return static_cast<int64_t>(std::nearbyint(static_cast<double>(rest) / 2));
    };
    return crop(x, half(rows), half(columns), height, width);
  };
}

Transform random_crop(int64_t height, int64_t width, int64_t padding) {
  check_size("random_crop", height, width);
  if (padding < 0 || padding > 65535)
    throw InvalidArgument("random_crop",
                          fmt::format("padding is {}; it must be in [0, 65535]", padding));
  return [=](const Tensor& image, const Generator& g) {
    const Tensor x = checked_image("random_crop", image, kU8);
    const int64_t rows = x.size(1) + 2 * padding - height;
    const int64_t columns = x.size(2) + 2 * padding - width;
    if (rows < 0 || columns < 0)
      throw InvalidArgument("random_crop",
                            fmt::format("an image of {} x {} with padding {} is smaller than "
                                        "{} x {}; resize it first",
                                        x.size(1), x.size(2), padding, height, width));
    const int64_t top = draw(rows + 1, g), left = draw(columns + 1, g);
    return crop(x, top - padding, left - padding, height, width);
  };
}

Transform random_horizontal_flip(double p) {
  check_probability("random_horizontal_flip", p);
  return [=](const Tensor& image, const Generator& g) {
    Tensor x = checked_image("random_horizontal_flip", image, kU8);
    return happens(p, g) && x.numel() != 0 ? flip_rows(x) : x;
  };
}

Transform random_vertical_flip(double p) {
  check_probability("random_vertical_flip", p);
  return [=](const Tensor& image, const Generator& g) {
    Tensor x = checked_image("random_vertical_flip", image, kU8);
    return happens(p, g) && x.numel() != 0 ? flip_columns(x) : x;
  };
}

Transform to_tensor() {
  return [](const Tensor& image, const Generator&) {
    const Tensor x = checked_image("to_tensor", image, kU8);
    Tensor out = empty(x.shape(), {kF32, Device()});
    if (x.numel() == 0) return out;
    const auto* from = x.data_ptr<uint8_t>();
    auto* to = out.data_ptr<float>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) to[i] = static_cast<float>(from[i]) / 255.0F;
    return out;
  };
}

Transform normalize(std::vector<float> mean, std::vector<float> std) {
  if (mean.empty() || mean.size() != std.size())
    throw InvalidArgument("normalize", fmt::format("{} means and {} deviations; give one of each "
                                                   "for each channel",
                                                   mean.size(), std.size()));
  for (float s : std)
    if (!(s > 0)) throw InvalidArgument("normalize", fmt::format("a deviation is {}", s));
  return [mean = std::move(mean), std = std::move(std)](const Tensor& image, const Generator&) {
    const Tensor x = checked_image("normalize", image, kF32);
    if (x.size(0) != static_cast<int64_t>(mean.size()))
      throw InvalidArgument("normalize",
                            fmt::format("{} means for {} channels", mean.size(), x.size(0)));
    Tensor out = empty(x.shape(), {kF32, Device()});
    const int64_t plane = x.size(1) * x.size(2);
    if (plane == 0) return out;
    for (size_t c = 0; c < mean.size(); ++c) {
      const auto* from = x.data_ptr<float>() + static_cast<int64_t>(c) * plane;
      auto* to = out.data_ptr<float>() + static_cast<int64_t>(c) * plane;
      for (int64_t i = 0; i < plane; ++i) to[i] = (from[i] - mean[c]) / std[c];
    }
    return out;
  };
}

}  // namespace transforms
}  // namespace ferry::data
