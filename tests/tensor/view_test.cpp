// SPDX-License-Identifier: Apache-2.0
//
// Views share storage, have the strides they should, and refuse what would
// need a copy.
#include <limits>

#include "common.h"

namespace ferry::test {
namespace {

class Views : public OnDevice {
 protected:
  Tensor counted(const Shape& shape) const {
    return arange(0, reference::Array::count(shape), 1, TensorOptions(device())).view(shape);
  }
};
FERRY_ON_EVERY_DEVICE(Views);

using Values = std::vector<int64_t>;

TEST_P(Views, ViewAndReshape) {
  const Tensor t = counted({2, 3, 4});
  EXPECT_EQ(t.view({6, -1}).shape(), (Shape{6, 4}));
  EXPECT_TRUE(t.view({24}).shares_storage(t));
  EXPECT_EQ(t.transpose(0, 1).view({3, 2, 2, 2}).strides(), (Shape{4, 12, 2, 1}));
  EXPECT_NE(error_of([&] {
              (void)t.transpose(0, 1).view({6, 4});
            }).find("reshape()"),
            std::string::npos);
  EXPECT_EQ(t.transpose(0, 1).reshape({6, 4}).select(0, 1).to_vector<int64_t>(),
            (Values{12, 13, 14, 15}));
  EXPECT_FALSE(t.transpose(0, 1).reshape({24}).shares_storage(t));
  EXPECT_NE(error_of([&] {
              (void)t.view({5, -1});
            }).find("[5, -1] does not fit the 24"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)t.view({-1, -1}); }).find("more than one -1"), std::string::npos);
  EXPECT_EQ(empty({0, 3}, TensorOptions(device())).view({3, 0, 5}).shape(), (Shape{3, 0, 5}));
  EXPECT_EQ(t.narrow(0, 1, 1).expand({2, 3, 4}).reshape({24}).numel(), 24);
  EXPECT_EQ(ones({1}, TensorOptions(device())).view({}).dim(), 0);
}

TEST_P(Views, ReshapeKeepsTheOrderOfElements) {
  const Tensor t = counted({4, 6, 2});
  const Tensor forms[] = {t, t.permute({2, 0, 1}), t.slice(1, 0, 6, 2), t.narrow(2, 0, 1),
                          t.select(1, 3).unsqueeze(1).expand({4, 3, 2})};
  for (const Tensor& f : forms) {
    const Values order = f.to_vector<int64_t>();
    EXPECT_EQ(f.reshape({f.numel()}).to_vector<int64_t>(), order);
    EXPECT_EQ(f.reshape({2, -1, 1}).to_vector<int64_t>(), order);
    EXPECT_EQ(f.flatten().to_vector<int64_t>(), order);
  }
}

TEST_P(Views, FlattenPermuteTranspose) {
  const Tensor t = counted({2, 3, 4});
  EXPECT_EQ(t.flatten(1).shape(), (Shape{2, 12}));
  EXPECT_EQ(t.flatten(0, -2).shape(), (Shape{6, 4}));
  EXPECT_EQ(t.permute({2, 0, -2}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(t.permute({2, 0, 1}).to_vector<int64_t>()[1], 4);
  EXPECT_NE(error_of([&] { (void)t.permute({0, 0, 1}); }).find("once"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)t.t(); }).find("[2, 3, 4]"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)t.flatten(2, 1); }).find("after"), std::string::npos);
  EXPECT_EQ(full({}, 1, TensorOptions(device())).flatten().shape(), (Shape{1}));
}

TEST_P(Views, SqueezeAndUnsqueeze) {
  const Tensor t = counted({2, 1, 3, 1});
  EXPECT_EQ(t.squeeze().shape(), (Shape{2, 3}));
  EXPECT_EQ(t.squeeze(1).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(t.squeeze(0).shape(), (Shape{2, 1, 3, 1}));
  EXPECT_EQ(t.unsqueeze(-1).shape(), (Shape{2, 1, 3, 1, 1}));
  EXPECT_EQ(t.unsqueeze(0).shape(), (Shape{1, 2, 1, 3, 1}));
  EXPECT_NE(error_of([&] { (void)t.unsqueeze(6); }).find("outside -5..4"), std::string::npos);
}

TEST_P(Views, SelectNarrowSlice) {
  const Tensor t = counted({4, 5});
  EXPECT_EQ(t[-1].to_vector<int64_t>(), (Values{15, 16, 17, 18, 19}));
  EXPECT_EQ(t.select(1, 2).to_vector<int64_t>(), (Values{2, 7, 12, 17}));
  EXPECT_EQ(t.narrow(1, -2, 2).select(0, 1).to_vector<int64_t>(), (Values{8, 9}));
  EXPECT_EQ(t.slice(1, -4, -1, 2).select(0, 0).to_vector<int64_t>(), (Values{1, 3}));
  EXPECT_EQ(t.slice(0, 2, 100).shape(), (Shape{2, 5}));
  EXPECT_EQ(t.slice(0, 3, 1).shape(), (Shape{0, 5}));
  EXPECT_EQ(t.slice(0, 0, 4, std::numeric_limits<int64_t>::max()).shape(), (Shape{1, 5}));
  EXPECT_EQ(t.narrow(0, 4, 0).shape(), (Shape{0, 5}));
  EXPECT_NE(error_of([&] { (void)t[4]; }).find("index 4"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)t.narrow(0, 3, 2); }).find("outside"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)t.slice(0, 0, 4, 0); }).find("step"), std::string::npos);
  EXPECT_EQ(t.slice(0, 1, 4).storage_offset(), 5);
}

TEST_P(Views, ExpandRepeatsWithoutCopying) {
  const Tensor t = counted({3, 1});
  const Tensor e = t.expand({2, 3, 4});
  EXPECT_TRUE(e.shares_storage(t));
  EXPECT_EQ(e.strides(), (Shape{0, 1, 0}));
  EXPECT_EQ(e.select(0, 1).to_vector<int64_t>(), (Values{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(t.expand({-1, 5}).shape(), (Shape{3, 5}));
  EXPECT_NE(error_of([&] { (void)t.expand({2, 5}); }).find("does not expand"), std::string::npos);
}

TEST_P(Views, AsStridedStaysInside) {
  const Tensor t = counted({10});
  EXPECT_EQ(t.as_strided({2, 3}, {4, 2}, 1).to_vector<int64_t>(), (Values{1, 3, 5, 5, 7, 9}));
  for (const int64_t offset : {2, -1}) {
    EXPECT_THROW((void)t.as_strided({2, 3}, {4, 2}, offset), InvalidArgument);
  }
  EXPECT_THROW((void)t.as_strided({2}, {int64_t{1} << 62}, 0), InvalidArgument);
  EXPECT_THROW((void)t.as_strided({2}, {-1}, 1), InvalidArgument);
  EXPECT_THROW((void)t.as_strided({11}, {1}, 0), InvalidArgument);
}

TEST_P(Views, SizesFromEitherEnd) {
  const Tensor t = counted({2, 3, 4});
  EXPECT_EQ(t.dim(), 3);
  EXPECT_EQ(t.size(0), 2);
  EXPECT_EQ(t.size(-1), 4);
  EXPECT_EQ(t.nbytes(), 24u * 8);
  EXPECT_EQ(t.transpose(-1, -3).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(t.transpose(1, 1).strides(), t.strides());
  for (const int64_t d : {int64_t{3}, int64_t{-4}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_NE(error_of([&] { (void)t.size(d); }).find("-3..2"), std::string::npos);
    EXPECT_THROW((void)t.transpose(0, d), InvalidArgument);
    EXPECT_THROW((void)t.select(d, 0), InvalidArgument);
    EXPECT_THROW((void)t.narrow(d, 0, 1), InvalidArgument);
    EXPECT_THROW((void)t.slice(d, 0, 1), InvalidArgument);
    EXPECT_THROW((void)t.squeeze(d), InvalidArgument);
    EXPECT_THROW((void)t.flatten(d), InvalidArgument);
    EXPECT_THROW((void)t.permute({0, 1, d}), InvalidArgument);
  }
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THROW((void)t.narrow(0, most, 1), InvalidArgument);
  EXPECT_THROW((void)t.narrow(0, 1, most), InvalidArgument);
  EXPECT_THROW((void)t.narrow(0, 0, -1), InvalidArgument);
  EXPECT_THROW((void)t.select(0, -3), InvalidArgument);
  EXPECT_EQ(t.slice(0, -most, most).shape(), t.shape());
  EXPECT_THROW((void)t.permute({0, 1}), InvalidArgument);
}

TEST_P(Views, OfViewsKeepTheirPlace) {
  const Tensor t = counted({4, 5, 6});
  const Tensor v = t.narrow(0, 1, 3).transpose(0, 2).slice(1, 1, 5, 2).select(0, 4);
  EXPECT_TRUE(v.shares_storage(t));
  EXPECT_EQ(v.storage_offset(), 30 + 6 + 4);
  EXPECT_EQ(v.strides(), (Shape{12, 30}));
  EXPECT_EQ(v.to_vector<int64_t>(), (Values{40, 70, 100, 52, 82, 112}));
  EXPECT_FALSE(v.is_contiguous());
  EXPECT_EQ((v + 0).to_vector<int64_t>(), v.to_vector<int64_t>());
  EXPECT_TRUE(t.select(0, 2).is_contiguous());
  EXPECT_TRUE(t.narrow(0, 1, 2).is_contiguous());
  EXPECT_TRUE(t.unsqueeze(1).is_contiguous());
  EXPECT_FALSE(t.narrow(1, 1, 2).is_contiguous());
}

TEST_P(Views, OutliveTheirBase) {
  Tensor view;
  {
    const Tensor base = counted({100});
    view = base.slice(0, 10, 100, 30);
  }
  const Tensor other = counted({100}) * 0 - 1;  // would reuse freed memory
  EXPECT_EQ(view.to_vector<int64_t>(), (Values{10, 40, 70}));
  EXPECT_EQ(other[0].item<int64_t>(), -1);
}

TEST_P(Views, WritesShowThrough) {
  const Tensor t = counted({3, 3});
  t.t()[0].fill_(9);
  EXPECT_EQ(t.to_vector<int64_t>(), (Values{9, 1, 2, 9, 4, 5, 9, 7, 8}));
}

}  // namespace
}  // namespace ferry::test
