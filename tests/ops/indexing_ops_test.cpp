// SPDX-License-Identifier: Apache-2.0
//
// index() and index_put_(), masks and positions: views, dtypes, errors.
#include "ferry/indexing.h"

#include <cmath>

#include "common.h"
#include "ferry/memory.h"

namespace ferry::test {
namespace {

using indexing::Ellipsis;
using indexing::None;
using indexing::Slice;
using reference::Array;

class IndexOps : public OnDevice {
 protected:
  Tensor counted(Sizes shape, DType dtype = kF32) const {
    int64_t n = 1;
    for (const int64_t s : ShapeRef(shape)) n *= s;
    return arange(0, n, 1, TensorOptions(device())).to(dtype).view(shape);
  }
  Tensor at(std::initializer_list<int64_t> values) const {
    return tensor<int64_t>(values, device());
  }
  Tensor flags(std::initializer_list<int64_t> values) const { return at(values).to(kBool); }
};
FERRY_ON_EVERY_DEVICE(IndexOps);

TEST_P(IndexOps, SlicesAndIntegersAreViews) {
  const Tensor x = counted({4, 5, 6});
  const Tensor v = x.index({Slice(1, None), 2, Ellipsis, None, Slice(None, None, 2)});
  EXPECT_EQ(v.shape(), (Shape{3, 1, 3}));
  EXPECT_TRUE(v.shares_storage(x));
  EXPECT_TRUE(equal(v, x.slice(0, 1, 4).select(1, 2).unsqueeze(1).slice(2, 0, 6, 2)));
  EXPECT_TRUE(equal(x.index({-1, Ellipsis}), x.select(0, 3)));
  EXPECT_TRUE(equal(x.index({Slice(-2)}), x.narrow(0, 2, 2)));
  EXPECT_TRUE(x.index({}).shares_storage(x));
  EXPECT_EQ(x.index({1, 2, 3}).item<float>(), 45);
  EXPECT_EQ(full({}, 3, device()).index({None, Ellipsis}).shape(), (Shape{1}));
  // A tensor of one integer without dimensions is a number: a view.
  EXPECT_TRUE(x.index({full({}, 2, TensorOptions(kI32, device()))}).shares_storage(x));
}

TEST_P(IndexOps, ReadsAndWritesEveryDtype) {
  const Array values = random_array({4, 3, 5}, 60, 2);
  for (const DType dtype : kAllDtypes) {
    SCOPED_TRACE(name(dtype));
    const Array x = rounded(values, dtype);
    const Tensor t = make(x, dtype);
    const Tensor got = t.index({at({3, -4, 3}), Slice(), at({4, 0, -2})});
    EXPECT_EQ(got.dtype(), dtype);
    Array want({3, 3});
    const int64_t rows[] = {3, 0, 3}, columns[] = {4, 0, 3};
    for (int64_t i = 0; i < 9; ++i) {
      want.at(i) = x.at((rows[i / 3] * 3 + i % 3) * 5 + columns[i / 3]);
    }
    EXPECT_TRUE(matches(got, want, 0));

    const Tensor y = t.clone();
    y.index_put_({at({1, -1}), Slice(), at({2, 0})}, make(Array({3}, {1, 0, 1}), dtype));
    Array written = x;
    for (int64_t r = 0; r < 3; ++r) {
      written.at((1 * 3 + r) * 5 + 2) = r == 1 ? 0 : 1;
      written.at((3 * 3 + r) * 5 + 0) = r == 1 ? 0 : 1;
    }
    EXPECT_TRUE(matches(y, written, 0));

    const Tensor mask = gt(t.select(2, 0), Scalar(0));
    const Tensor chosen = t.index({mask});
    std::vector<double> expected;
    for (int64_t i = 0; i < 12; ++i) {
      if (!(x.at(i * 5) > 0)) continue;
      for (int64_t k = 0; k < 5; ++k) expected.push_back(x.at(i * 5 + k));
    }
    EXPECT_EQ(array_of(chosen).data, expected);
    y.index_put_({mask}, 1);
    EXPECT_TRUE(equal(y.index({mask}), ones(chosen.shape(), TensorOptions(dtype, device()))));
    const Tensor rest = logical_not(mask);
    EXPECT_TRUE(equal(y.index({rest}), make(written, dtype).index({rest})));
  }
}

TEST_P(IndexOps, PlacesDimensionsAsNumPyDoes) {
  const Tensor x = counted({2, 3, 4, 5});
  const Tensor i = at({0, 1, 1, 0, 1, 0}).view({2, 3});
  const Tensor j = at({1, 2, 0});
  EXPECT_EQ(x.index({Slice(), i}).shape(), (Shape{2, 2, 3, 4, 5}));
  EXPECT_EQ(x.index({Slice(), i, j}).shape(), (Shape{2, 2, 3, 5}));
  EXPECT_EQ(x.index({i, Slice(), j}).shape(), (Shape{2, 3, 3, 5}));
  EXPECT_EQ(x.index({Slice(), i, Slice(), j}).shape(), (Shape{2, 3, 2, 4}));
  EXPECT_EQ(x.index({Slice(), i, None, j}).shape(), (Shape{2, 3, 2, 1, 5}));
  // A mask of several dimensions stands for all of them, also before others.
  const Tensor mask = eq(remainder(counted({3, 4}, kI64), 5), 2);
  const Tensor got = x.index({1, mask, 0});
  EXPECT_EQ(got.to_vector<float>(), (std::vector<float>{70, 95}));
}

TEST_P(IndexOps, WritesThroughViewsAndFromThem) {
  const Tensor x = counted({4, 6});
  x.t().index_put_({at({0, 5})}, at({-1, -2, -3, -4}).to(kF32));
  EXPECT_EQ(x.select(0, 2).to_vector<float>(), (std::vector<float>{-3, 13, 14, 15, 16, -3}));
  const Tensor y = counted({4, 6});
  y.slice(1, 0, 6, 2).index_put_({at({3, 0}), at({0, 2})}, 100);
  EXPECT_EQ(y.index({3}).to_vector<float>(), (std::vector<float>{100, 19, 20, 21, 22, 23}));
  EXPECT_EQ(y.index({0}).to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 100, 5}));
  // The value is read as it was before.
  const Tensor z = counted({4, 2});
  z.index_put_({at({0, 1, 2, 3})}, z.index({at({3, 2, 1, 0})}));
  EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{6, 7, 4, 5, 2, 3, 0, 1}));
  z.index_put_({Slice(0, 2)}, z.narrow(0, 1, 2));
  EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{4, 5, 2, 3, 2, 3, 0, 1}));
  z.index_put_({at({1, 2})}, z.narrow(0, 0, 2));
  EXPECT_EQ(z.to_vector<float>(), (std::vector<float>{4, 5, 4, 5, 2, 3, 0, 1}));
  const Tensor sum = zeros({3}, TensorOptions(kI32, device()));
  sum.index_put_({at({0, 2, 0, -1, 0})}, full({}, 2, device()), true);
  EXPECT_EQ(sum.to_vector<int32_t>(), (std::vector<int32_t>{6, 0, 4}));
  sum.index_put_({Slice(1)}, full({}, 5, device()), true);
  EXPECT_EQ(sum.to_vector<int32_t>(), (std::vector<int32_t>{6, 5, 9}));
  sum.index_put_({Ellipsis}, 1.9);
  EXPECT_EQ(sum.to_vector<int32_t>(), (std::vector<int32_t>{1, 1, 1}));
}

TEST_P(IndexOps, Empty) {
  const Tensor none = empty({0, 3}, TensorOptions(device()));
  EXPECT_EQ(none.index({empty({0}, TensorOptions(kI64, device()))}).shape(), (Shape{0, 3}));
  EXPECT_EQ(none.index({Slice(), at({2, 0, 1, 1})}).shape(), (Shape{0, 4}));
  EXPECT_EQ(none.index({eq(none, 0)}).shape(), (Shape{0}));
  EXPECT_EQ(counted({3}).index({flags({0, 0, 0})}).shape(), (Shape{0}));
  none.index_put_({Slice(), at({1})}, 5);
  const Tensor x = counted({2, 3});
  x.index_put_({empty({0}, TensorOptions(kI64, device()))}, 5);
  x.index_put_({flags({0, 0})}, empty({0, 3}, TensorOptions(device())));
  x.index_put_({false}, 5);
  EXPECT_TRUE(equal(x, counted({2, 3})));
  EXPECT_EQ(x.index({true}).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(x.index({false}).shape(), (Shape{0, 2, 3}));
  EXPECT_NE(error_of([&] { (void)none.index({at({0})}); }).find("of size 0"), std::string::npos);
}

TEST_P(IndexOps, ErrorsNameIndexDimensionAndSize) {
  const Tensor x = counted({4, 5, 6});
  const auto expect = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(error_of([&] { (void)x.index({0, 5}); }), {"[index]", "index 5", "dimension 1", "size 5"});
  expect(error_of([&] {
           (void)x.index({None, Ellipsis, -7});
         }),
         {"index -7", "dimension 2", "size 6"});
  expect(error_of([&] {
           (void)x.index({0, at({1, 4}), at({2, -9})});
         }),
         {"index -9", "dimension 2", "size 6"});
  expect(error_of([&] {
           x.index_put_({Slice(), at({9})}, 0);
         }),
         {"[index_put_]", "index 9", "dimension 1", "size 5"});
  expect(error_of([&] {
           (void)x.index({Slice(), flags({1, 0, 1})});
         }),
         {"[3]", "dimension 1", "[4, 5, 6]"});
  expect(error_of([&] { (void)x.index({0, 0, 0, 0}); }), {"4 indices", "[4, 5, 6]"});
  expect(error_of([&] { (void)x.index({Ellipsis, Ellipsis}); }), {"2 ellipses"});
  expect(error_of([&] { (void)x.index({Slice(None, None, -1)}); }), {"step -1", "dimension 0"});
  expect(error_of([&] { (void)x.index({x}); }), {"float32"});
  expect(error_of([&] { (void)x.index({at({0}).to(kU8)}); }), {"uint8"});
  expect(error_of([&] { (void)x.index({at({0, 1}), at({0, 1, 2})}); }), {"[2] and [3]"});
  expect(error_of([&] { x.index_put_({at({0, 1})}, counted({7})); }), {"[7]", "[2, 5, 6]"});
  expect(error_of([&] {
           x.expand({4, 5, 6}).select(0, 0).expand({2, 5, 6}).index_put_({0}, 1);
         }),
         {"share memory"});
  expect(error_of([&] { (void)Tensor().index({0}); }), {"undefined"});
  EXPECT_TRUE(equal(x, counted({4, 5, 6})));
}

TEST_P(IndexOps, Masks) {
  for (const DType dtype : kAllDtypes) {
    SCOPED_TRACE(name(dtype));
    const Tensor x = flags({0, 1, 1, 0, 1, 0}).to(dtype).view({2, 3});
    const Tensor mask = flags({1, 0, 1});
    const Tensor filled = masked_fill(x, mask, 1);
    EXPECT_EQ(filled.dtype(), dtype);
    EXPECT_EQ(array_of(filled).data, (std::vector<double>{1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(array_of(masked_fill(x, mask, full({}, 0, device()))).data,
              (std::vector<double>{0, 1, 0, 0, 1, 0}));
    EXPECT_EQ(array_of(masked_select(x, mask)).data, (std::vector<double>{0, 1, 0, 0}));
    EXPECT_EQ(nonzero(x).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 0, 2, 1, 1}));
    masked_fill_(x.t(), flags({1, 0}), 1);
    EXPECT_EQ(array_of(x).data, (std::vector<double>{1, 1, 1, 0, 1, 0}));
  }
  const Tensor x = counted({2, 2});
  EXPECT_EQ(masked_fill(x.select(0, 0), flags({1, 0, 0, 1}).view({2, 2}), 9).shape(),
            (Shape{2, 2}));
  EXPECT_NE(error_of([&] {
              masked_fill_(x, flags({1, 0, 0, 1}).view({2, 1, 2}), 0);
            }).find("masked_fill_"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)masked_fill(x, x, 0); }).find("must be bool"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)masked_fill(x, gt(x, 0), x); }).find("no dimensions"),
            std::string::npos);
  EXPECT_EQ(nonzero(full({}, 3, device())).shape(), (Shape{1, 0}));
  EXPECT_EQ(nonzero(full({}, 0, device())).shape(), (Shape{0, 0}));
  EXPECT_EQ(masked_select(full({}, 3, device()), full({}, true, device())).shape(), (Shape{1}));
  const float nan = std::nanf("");
  EXPECT_EQ(nonzero(tensor<float>({0, nan, -0.0F}, device())).to_vector<int64_t>(),
            (std::vector<int64_t>{1}));
}

TEST_P(IndexOps, TakeOfFlattened) {
  const Tensor x = counted({3, 4}).t();
  EXPECT_EQ(take(x, at({1, -1, 0}).to(kI32)).to_vector<float>(), (std::vector<float>{4, 11, 0}));
  EXPECT_EQ(take(x, full({}, 3, TensorOptions(kI64, device()))).item<float>(), 1);
  EXPECT_NE(error_of([&] { (void)take(x, at({12})); }).find("index 12"), std::string::npos);
  EXPECT_EQ(take_along_dim(x, at({2, 0}).view({1, 2}), 1).shape(), (Shape{4, 2}));
  EXPECT_NE(error_of([&] { (void)take_along_dim(x, at({0}), 0); }).find("dimensions"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry::test
