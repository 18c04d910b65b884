// SPDX-License-Identifier: Apache-2.0
//
// softmax, log_softmax and batch_norm.
#include <cmath>
#include <limits>

#include "common.h"
#include "reference/reduce.h"

namespace ferry::test {
namespace {

using reference::Array;

class Norms : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Norms);

TEST_P(Norms, SoftmaxAlongEachDimension) {
  for (const DType dtype : kFloatDtypes) {
    const Array x = rounded(random_array({3, 17, 5}, 8, 1), dtype);
    const Tensor t = make(x, dtype);
    for (size_t d = 0; d < 3; ++d) {
      const auto dim = static_cast<int64_t>(d);
      const double unit = unit_of(dtype == kF64 ? kF64 : kF32);
      EXPECT_TRUE(matches(softmax(t, dim), reference::softmax(x, d, false), 40 * unit));
      EXPECT_TRUE(
          matches(log_softmax(t, dim - 3), reference::softmax(x, d, true), 8 * unit, 40 * unit));
    }
  }
}

TEST_P(Norms, SoftmaxOfLargeAndInfiniteValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor t = tensor<float>({1000, 1000, -inf, 999}).to(device());
  const std::vector<float> got = softmax(t, 0).to_vector<float>();
  EXPECT_NEAR(got[0], 1 / (2 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(got[2], 0);
  const Tensor none = full({3}, -inf, TensorOptions(device()));
  EXPECT_TRUE(std::isnan(softmax(none, 0).to_vector<float>()[0]));
  EXPECT_EQ(softmax(full({}, 3.0, TensorOptions(device())), 0).item<float>(), 1);
  EXPECT_EQ(softmax(empty({0, 3}, TensorOptions(device())), 1).shape(), (Shape{0, 3}));
}

TEST_P(Norms, BatchNormWithAndWithoutScale) {
  for (const DType dtype : kFloatDtypes) {
    const Array x = rounded(random_array({2, 3, 4, 5}, 2, 2), dtype);
    const Array mean = rounded(random_array({3}, 1, 3), dtype);
    const Array var({3}, {0.5, 2, 1.25});
    const Array weight = rounded(random_array({3}, 1, 4), dtype);
    const Array bias = rounded(random_array({3}, 1, 5), dtype);
    for (const bool affine : {true, false}) {
      Array want = x;
      for (int64_t i = 0; i < 120; ++i) {
        const int64_t c = i / 20 % 3;
        want.at(i) = (x.at(i) - mean.at(c)) / std::sqrt(var.at(c) + 1e-5);
        if (affine) want.at(i) = want.at(i) * weight.at(c) + bias.at(c);
      }
      const Tensor got = batch_norm(make(x, dtype), make(mean, dtype), make(var, dtype),
                                    affine ? make(weight, dtype) : Tensor(),
                                    affine ? make(bias, dtype) : Tensor());
      const double unit = unit_of(dtype == kF64 ? kF64 : kF32);
      EXPECT_TRUE(matches(got, want, 16 * unit, 32 * unit)) << name(dtype);
    }
  }
}

TEST_P(Norms, RefusesWhatDoesNotFit) {
  const TensorOptions on(device());
  EXPECT_NE(error_of([&] { (void)softmax(ones({2}, on).to(kI32), 0); }).find("[softmax]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)softmax(ones({2}, on), 1); }).find("dimension 1"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)batch_norm(ones({2, 3}, on), ones({4}, on), ones({3}, on));
            }).find("[4]"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry::test
