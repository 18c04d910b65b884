// SPDX-License-Identifier: Apache-2.0
//
// Long sums: their error does not grow with the length, halves do not overflow
// on the way, and the same data gives the same bits each time.
#include <bit>
#include <cmath>
#include <limits>

#include "common.h"
#include "reference/reduce.h"

namespace ferry::test {
namespace {

using reference::Array;

class LongSums : public OnDevice {
 protected:
  Tensor filled(Shape shape, double value, DType dtype) const {
    return full(shape, value, TensorOptions(dtype, device()));
  }
};
FERRY_ON_EVERY_DEVICE(LongSums);

TEST_P(LongSums, OfOneTenth) {
  const int64_t n = int64_t{1} << 24;
  const Tensor t = filled({n}, 0.1, kF32);
  const double exact = static_cast<double>(0.1f) * static_cast<double>(n);
  EXPECT_NEAR(sum(t).item<double>(), exact, exact * 1e-6);
  EXPECT_NEAR(mean(t).item<double>(), static_cast<double>(0.1f), 1e-7);
  const Tensor columns = t.view({n / 16, 16});
  for (const Tensor& part : {sum(columns, {0}), sum(columns.t(), {1}),
                             sum(t.view({16, n / 16}).slice(1, 0, n / 16, 1), {1})}) {
    for (const float v : part.to_vector<float>()) EXPECT_NEAR(v, exact / 16, exact / 16 * 1e-6);
  }
}

TEST_P(LongSums, OfOnesBeyondTheExactIntegers) {
  const int64_t n = int64_t{1} << 25;
  EXPECT_EQ(sum(filled({n}, 1, kF32)).item<double>(), static_cast<double>(n));
  const Tensor pairs = filled({n / 8, 2}, 0.1, kF32);
  for (const float v : mean(pairs, {0}).to_vector<float>()) EXPECT_NEAR(v, 0.1, 1e-6);
}

TEST_P(LongSums, OfRandomValuesAlongEachAxis) {
  Array x({100000, 3});
  const Array noise = random_array({100000, 3}, 35, 4);
  for (size_t i = 0; i < x.data.size(); ++i) x.data[i] = 285 + noise.data[i];
  x = rounded(std::move(x), kF32);
  const Tensor t = make(x, kF32);
  for (uint32_t axes = 1; axes < 4; ++axes) {
    const Array want = reference::reduce(FERRY_REDUCE_SUM, x, axes);
    Shape dims;
    for (int64_t d = 0; d < 2; ++d) {
      if ((axes >> d & 1) != 0) dims.push_back(d);
    }
    EXPECT_TRUE(matches(sum(t, dims, true), want, 1e-6)) << "axes " << axes;
    EXPECT_TRUE(matches(sum(t.t().contiguous().t(), dims, true), want, 1e-6)) << "axes " << axes;
  }
}

TEST_P(LongSums, OfHalves) {
  for (const DType dtype : {kF16, kBF16}) {
    const int64_t n = 10000000;
    const double value = reference::Array(rounded(Array({1}, {0.001}), dtype)).at(0);
    const Tensor t = filled({n}, value, dtype);
    const double exact = value * static_cast<double>(n);
    // Accumulated in f32 or better, rounded once.
    const double got = sum(t).to(kF64).item<double>();
    EXPECT_NEAR(got, exact, exact * 2 * unit_of(dtype)) << name(dtype);
    EXPECT_NEAR(mean(t).to(kF64).item<double>(), value, value * 1e-6) << name(dtype);
  }
  EXPECT_EQ(mean(filled({100000}, 1, kF16)).item<double>(), 1);
  EXPECT_EQ(mean(filled({100000}, 1, kBF16)).item<double>(), 1);
  EXPECT_EQ(mean(filled({3}, 40000, kF16)).item<double>(), 40000);
  EXPECT_EQ(sum(filled({70000}, 1, kF16)).item<double>(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(mean(filled({1000}, 60000, kF16)).dtype(), kF16);
}

TEST_P(LongSums, HaveTheSameBitsEachTime) {
  const Tensor t = make(random_array({99999}, 1, 4), kF32);
  const Tensor m = t.narrow(0, 0, 99856).view({316, 316});
  const auto bits = [](const Tensor& x) {
    std::vector<uint32_t> out;
    for (const float v : x.to_vector<float>()) out.push_back(std::bit_cast<uint32_t>(v));
    return out;
  };
  const auto all_bits = [&] {
    std::vector<std::vector<uint32_t>> out;
    for (const Tensor& x : {sum(t), mean(t), prod(t + 1), sum(m, {0}), sum(m, {1}), softmax(t, 0),
                            matmul(m, m), linear(m, m, t.narrow(0, 0, 316))}) {
      out.push_back(bits(x));
    }
    return out;
  };
  const auto first = all_bits();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(all_bits(), first);
}

}  // namespace
}  // namespace ferry::test
