// SPDX-License-Identifier: Apache-2.0
//
// softmax, log_softmax and batch_norm.
#include <cmath>
#include <limits>

#include "common.h"
#include "reference/network.h"
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

TEST_P(Norms, SoftmaxOfManySizes) {
  // x - m is up to 40, and its rounding is a relative error of the power.
  const double error = 48 * unit_of(kF32);
  for (const int64_t n : {1, 2, 7, 8, 9, 31, 33, 1000, 4099}) {
    const Array x = rounded(random_array({2, n}, 20, 7), kF32);
    const Tensor t = make(x, kF32);
    const Array want = reference::softmax(x, 1, false);
    EXPECT_TRUE(matches(softmax(t, 1), want, error)) << n;
    EXPECT_TRUE(matches(softmax(t.t(), 0).t(), want, error)) << n;
    EXPECT_TRUE(matches(log_softmax(t, 1), reference::softmax(x, 1, true), 0, error)) << n;
  }
}

TEST_P(Norms, LogSoftmaxDoesNotUnderflow) {
  const Tensor t = tensor<float>({-1000, 0, 1000}, device());
  const std::vector<float> got = log_softmax(t, 0).to_vector<float>();
  EXPECT_EQ(got, (std::vector<float>{-2000, -1000, 0}));
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> masked =
      log_softmax(tensor<float>({-inf, 3, -inf}, device()), 0).to_vector<float>();
  EXPECT_EQ(masked, (std::vector<float>{-inf, 0, -inf}));
}

TEST_P(Norms, OneBadRowLeavesTheOthers) {
  Array x = rounded(random_array({3, 5}, 2, 8), kF32);
  x.at(7) = std::nan("");
  for (int64_t i = 0; i < 5; ++i) x.at(i) = -std::numeric_limits<double>::infinity();
  const Array got = array_of(softmax(make(x, kF32), 1));
  for (int64_t i = 0; i < 10; ++i) EXPECT_TRUE(std::isnan(got.at(i))) << i;
  double total = 0;
  for (int64_t i = 10; i < 15; ++i) total += got.at(i);
  EXPECT_NEAR(total, 1, 1e-6);
}

TEST_P(Norms, BatchNormWithAndWithoutScale) {
  for (const DType dtype : kFloatDtypes) {
    for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{7, 3}, Shape{2, 3, 9}, Shape{0, 3, 2, 2}}) {
      const Array x = rounded(random_array(shape, 2, 2), dtype);
      const Array mean = rounded(random_array({3}, 1, 3), dtype);
      const Array var({3}, {0.5, 2, 1.25});
      const Array weight = rounded(random_array({3}, 1, 4), dtype);
      const Array bias = rounded(random_array({3}, 1, 5), dtype);
      for (const bool scaled : {true, false}) {
        for (const bool shifted : {true, false}) {
          const Array want = reference::batch_norm(x, mean, var, scaled ? weight : Array(),
                                                   shifted ? bias : Array(), 1e-5);
          const Tensor got = batch_norm(make(x, dtype), make(mean, dtype), make(var, dtype),
                                        scaled ? make(weight, dtype) : Tensor(),
                                        shifted ? make(bias, dtype) : Tensor());
          ASSERT_EQ(got.dtype(), dtype);
          const double unit = unit_of(dtype == kF64 ? kF64 : kF32);
          EXPECT_TRUE(matches(got, want, 16 * unit, 32 * unit)) << name(dtype);
        }
      }
    }
  }
}

TEST_P(Norms, BatchNormOfStridedInputAndWideStatistics) {
  const Array own = rounded(random_array({4, 5, 3, 2}, 2, 9), kF16);
  const Tensor t = make(own, kF16).permute({3, 2, 0, 1});  // [2, 3, 4, 5]
  const Array mean = rounded(random_array({3}, 1, 10), kF32);
  const Array var({3}, {0.5, 2, 1.25});
  const Array want = reference::batch_norm(array_of(t), mean, var, Array(), Array(), 0.1);
  const Tensor got = batch_norm(t, make(mean, kF32), make(var, kF32), {}, {}, 0.1);
  EXPECT_EQ(got.dtype(), kF16);
  EXPECT_TRUE(matches(got, want, 16 * unit_of(kF32), 32 * unit_of(kF32)));
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
