// SPDX-License-Identifier: Apache-2.0
//
// Products: PyTorch's shapes, dtypes, strides, K of 0, and linear.
#include "common.h"
#include "reference/network.h"

namespace ferry::test {
namespace {

using reference::Array;
using reference::Bounded;

class Matmul : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Matmul);

constexpr DType kDtypes[] = {kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64};

double bound(DType dtype, int64_t k) {
  if (!is_floating_point(dtype)) return 0;
  const DType compute = dtype == kF64 ? kF64 : kF32;
  return static_cast<double>(k + 2) * unit_of(compute);
}

TEST_P(Matmul, SizesAndDtypes) {
  const int64_t sizes[][3] = {{1, 1, 1},     {2, 3, 4},     {5, 1, 7},    {1, 64, 1},
                              {17, 33, 9},   {64, 64, 64},  {1, 100, 65}, {65, 100, 1},
                              {3, 257, 130}, {128, 16, 128}};
  for (const DType dtype : kDtypes) {
    const double limit = is_floating_point(dtype) ? 1 : 3.9;
    for (const auto& [m, k, n] : sizes) {
      const Array a = rounded(random_array({m, k}, limit, 1), dtype);
      const Array b = rounded(random_array({k, n}, limit, 2), dtype);
      const Bounded want = reference::matmul(a, b);
      const Tensor got = matmul(make(a, dtype), make(b, dtype));
      ASSERT_EQ(got.dtype(), dtype);
      ASSERT_TRUE(matches(got, want.value, want.size, bound(dtype, k)))
          << name(dtype) << " " << m << "x" << k << "x" << n;
    }
  }
}

TEST_P(Matmul, StridedOperands) {
  const Array a = rounded(random_array({8, 12}, 1, 3), kF32);
  const Array b = rounded(random_array({12, 8}, 1, 4), kF32);
  const Tensor x = make(a, kF32);
  const Tensor y = make(b, kF32);
  const Tensor lefts[] = {x, y.t(), x.slice(0, 0, 8, 2), x.narrow(0, 1, 1).expand({5, 12}),
                          x.narrow(1, 2, 1).expand({8, 12})};
  const Tensor rights[] = {y, x.t(), y.slice(1, 1, 8, 3), y.narrow(1, 3, 1).expand({12, 6})};
  for (const Tensor& l : lefts) {
    for (const Tensor& r : rights) {
      const Bounded want = reference::matmul(array_of(l), array_of(r));
      EXPECT_TRUE(matches(matmul(l, r), want.value, want.size, bound(kF32, 12)));
    }
  }
}

TEST_P(Matmul, ShapesOfPyTorch) {
  const auto shape = [&](Shape a, Shape b) {
    return matmul(ones(a, TensorOptions(device())), ones(b, TensorOptions(device()))).shape();
  };
  EXPECT_EQ(shape({3}, {3}), (Shape{}));
  EXPECT_EQ(shape({2, 3}, {3}), (Shape{2}));
  EXPECT_EQ(shape({3}, {3, 4}), (Shape{4}));
  EXPECT_EQ(shape({5, 2, 3}, {3}), (Shape{5, 2}));
  EXPECT_EQ(shape({3}, {5, 3, 4}), (Shape{5, 4}));
  EXPECT_EQ(shape({5, 2, 3}, {3, 4}), (Shape{5, 2, 4}));
  EXPECT_EQ(shape({2, 3}, {5, 3, 4}), (Shape{5, 2, 4}));
  EXPECT_EQ(shape({6, 1, 2, 3}, {5, 3, 4}), (Shape{6, 5, 2, 4}));
  EXPECT_EQ(shape({0, 3}, {3, 4}), (Shape{0, 4}));
  EXPECT_EQ(shape({2, 0, 3}, {3, 4}), (Shape{2, 0, 4}));
}

TEST_P(Matmul, BatchesAreEachTheirOwn) {
  const Array a = rounded(random_array({2, 3, 4, 5}, 1, 7), kF32);
  const Array b = rounded(random_array({3, 5, 6}, 1, 8), kF32);
  const Tensor x = make(a, kF32);
  const Tensor y = make(b, kF32);
  const Tensor got = matmul(x, y);
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 3; ++j) {
      const Bounded want = reference::matmul(array_of(x[i][j]), array_of(y[j]));
      EXPECT_TRUE(matches(got[i][j], want.value, want.size, bound(kF32, 5)));
    }
  }
}

TEST_P(Matmul, EmptyInnerSizeGivesZeros) {
  const TensorOptions on(device());
  EXPECT_EQ(matmul(ones({2, 0}, on), ones({0, 3}, on)).to_vector<float>(),
            (std::vector<float>(6, 0)));
  EXPECT_EQ(matmul(ones({0}, on), ones({0}, on)).item<float>(), 0);
  const Tensor bias = full({3}, 2.0, on);
  EXPECT_EQ(linear(ones({2, 0}, on), ones({3, 0}, on), bias).to_vector<float>(),
            (std::vector<float>(6, 2)));
}

TEST_P(Matmul, LinearWithAndWithoutBias) {
  for (const DType dtype : kFloatDtypes) {
    const Array x = rounded(random_array({7, 20}, 1, 1), dtype);
    const Array w = rounded(random_array({9, 20}, 1, 2), dtype);
    const Array b = rounded(random_array({9}, 1, 3), dtype);
    const Tensor tx = make(x, dtype);
    const Tensor tw = make(w, dtype);
    Bounded want = reference::matmul(x, array_of(tw.t()));
    EXPECT_TRUE(matches(linear(tx, tw), want.value, want.size, bound(dtype, 20)));
    for (int64_t i = 0; i < 63; ++i) {
      want.value.at(i) += b.at(i % 9);
      want.size.at(i) += std::abs(b.at(i % 9));
    }
    EXPECT_TRUE(matches(linear(tx, tw, make(b, dtype)), want.value, want.size, bound(dtype, 21)));
    want.value.shape = want.size.shape = {7, 1, 9};
    EXPECT_TRUE(matches(linear(tx.view({7, 1, 20}), tw, make(b, dtype)), want.value, want.size,
                        bound(dtype, 21)));
  }
}

TEST_P(Matmul, RefusesWhatDoesNotFit) {
  const TensorOptions on(device());
  EXPECT_EQ(error_of([&] {
              (void)matmul(ones({2, 64}, on), ones({32, 3}, on));
            }),
            "[matmul] inner sizes differ: 64 and 32, of shapes [2, 64] and [32, 3]");
  EXPECT_NE(error_of([&] {
              (void)matmul(ones({2, 3, 3}, on), ones({5, 3, 3}, on));
            }).find("do not broadcast"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)matmul(ones({}, on), ones({3}, on)); }).find("0-dim"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)matmul(ones({2, 2}, on), ones({2, 2}, on).to(kF64));
            }).find("float32 and float64"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)linear(ones({2, 3}, on), ones({4, 5}, on));
            }).find("[linear]"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry::test
