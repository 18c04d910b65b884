// SPDX-License-Identifier: Apache-2.0
//
// Transforms: resizing equal to Pillow's to the bit, crops, flips, floats.
#include "ferry/data/transforms.h"

#include <array>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "ferry/error.h"

namespace ferry::data {
namespace {

using Bytes = std::vector<uint8_t>;

Tensor image(const Bytes& values, Sizes shape) { return tensor(values, shape); }

TEST(Transforms, ResizesAsPillowToTheBit) {
  std::ifstream file(FIXTURES "/resize.bin", std::ios::binary);
  std::array<int32_t, 5> head{};
  int cases = 0;
  while (file.read(reinterpret_cast<char*>(head.data()), sizeof head)) {
    const auto [c, h, w, new_h, new_w] = head;
    Bytes old(static_cast<size_t>(c) * h * w), expected(static_cast<size_t>(c) * new_h * new_w);
    file.read(reinterpret_cast<char*>(old.data()), static_cast<std::streamsize>(old.size()));
    file.read(reinterpret_cast<char*>(expected.data()),
              static_cast<std::streamsize>(expected.size()));
    const Tensor out = resize_image(image(old, {c, h, w}), new_h, new_w);
    EXPECT_EQ(out.to_vector<uint8_t>(), expected)
        << h << "x" << w << " to " << new_h << "x" << new_w;
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

TEST(Transforms, TheShorterSideDecides) {
  const Tensor x = zeros({3, 40, 30}, kU8);
  EXPECT_EQ(transforms::resize(15)(x, Generator()).shape(), (Shape{3, 20, 15}));
  EXPECT_EQ(transforms::resize(15)(x.transpose(1, 2), Generator()).shape(), (Shape{3, 15, 20}));
}

TEST(Transforms, CropsAndFlips) {
  const Tensor x = image({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  const auto run = [&](const Transform& t) { return t(x, Generator()).to_vector<uint8_t>(); };
  EXPECT_EQ(run(transforms::center_crop(2, 1)), (Bytes{2, 5}));
  EXPECT_EQ(run(transforms::random_horizontal_flip(1)), (Bytes{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(run(transforms::random_vertical_flip(1)), (Bytes{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(run(transforms::random_horizontal_flip(0)), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(run(transforms::random_crop(2, 3)), (Bytes{1, 2, 3, 4, 5, 6}));
  std::set<int> seen;
  for (uint64_t seed = 0; seed < 200; ++seed)
    seen.insert(transforms::random_crop(1, 1, 1)(x, Generator(seed)).item<int>());
  EXPECT_EQ(seen, (std::set<int>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Transforms, MakesNormalisedFloats) {
  const Transform t =
      transforms::compose({transforms::to_tensor(), transforms::normalize({0.5F, 0}, {0.5F, 2})});
  const Tensor y = t(image({0, 255, 255, 0}, {2, 1, 2}), Generator());
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{-1, 1, 0.5F, 0}));
}

TEST(Transforms, RefusesWhatIsNoImage) {
  const Tensor x = zeros({3, 4, 4}, kU8);
  const Generator g;
  EXPECT_THROW(resize_image(x, 0, 4), InvalidArgument);
  EXPECT_THROW(resize_image(x, 70000, 4), InvalidArgument);
  EXPECT_THROW(resize_image(Tensor(), 4, 4), InvalidArgument);
  EXPECT_THROW(resize_image(zeros({4, 4}, kU8), 4, 4), InvalidArgument);
  EXPECT_THROW(resize_image(zeros({3, 0, 4}, kU8), 4, 4), InvalidArgument);
  EXPECT_THROW(resize_image(x.to(kF32), 4, 4), InvalidArgument);
  EXPECT_THROW(transforms::center_crop(5, 5)(x, g), InvalidArgument);
  EXPECT_THROW(transforms::random_crop(5, 5)(x, g), InvalidArgument);
  EXPECT_THROW(transforms::random_horizontal_flip(1.5), InvalidArgument);
  EXPECT_THROW(transforms::normalize({1}, {1, 2}), InvalidArgument);
  EXPECT_THROW(transforms::normalize({1}, {0}), InvalidArgument);
  EXPECT_THROW(transforms::normalize({1}, {1})(x.to(kF32), g), InvalidArgument);
  EXPECT_THROW(transforms::compose({nullptr}), InvalidArgument);
}

}  // namespace
}  // namespace ferry::data
