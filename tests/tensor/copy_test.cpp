// SPDX-License-Identifier: Apache-2.0
//
// copy_, fill_ and clone: broadcasting, conversion, overlap, memory that is
// shared.
#include "common.h"

namespace ferry::test {
namespace {

class Copying : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Copying);

TEST_P(Copying, BroadcastsConvertsAndMoves) {
  for (const std::string& other : device_names()) {
    const Tensor x = zeros({2, 3}, TensorOptions(device()));
    x.copy_(tensor<int64_t>({1, 2, 3}).to(Device(other)));
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
    x.t().copy_(tensor<double>({7, 8}).to(Device(other)));
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{7, 7, 7, 8, 8, 8}));
    x.slice(1, 0, 3, 2).copy_(full({}, 0.5, TensorOptions(Device(other))));
    EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{0.5, 7, 0.5, 0.5, 8, 0.5}));
  }
}

TEST_P(Copying, RefusesShapesAndSharedElements) {
  const TensorOptions on(device());
  const Tensor x = zeros({2, 3}, on);
  EXPECT_NE(error_of([&] { x.copy_(ones({4}, on)); }).find("[4] does not broadcast to [2, 3]"),
            std::string::npos);
  const Tensor shared = zeros({1}, on).expand({3});
  EXPECT_NE(error_of([&] { shared.copy_(ones({3}, on)); }).find("clone()"), std::string::npos);
  EXPECT_NE(error_of([&] { shared.fill_(1); }).find("clone()"), std::string::npos);
  const Tensor windows = zeros({6}, on).as_strided({2, 3}, {2, 1}, 0);
  EXPECT_THROW(windows.fill_(1), InvalidArgument);
}

TEST_P(Copying, OverlappingRangesAreCopiedFirst) {
  const Tensor x = arange(0, 8, 1, TensorOptions(device()));
  x.slice(0, 1, 8).copy_(x.slice(0, 0, 7));
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{0, 0, 1, 2, 3, 4, 5, 6}));
  const Tensor m = arange(0, 9, 1, TensorOptions(device())).view({3, 3});
  m.copy_(m.t());
  EXPECT_EQ(m.to_vector<int64_t>(), (std::vector<int64_t>{0, 3, 6, 1, 4, 7, 2, 5, 8}));
  m.copy_(m);
  EXPECT_EQ(m.select(0, 0).to_vector<int64_t>(), (std::vector<int64_t>{0, 3, 6}));
}

TEST_P(Copying, ClonesHaveTheirOwnMemory) {
  const Tensor x = arange(0, 6, 1, TensorOptions(device())).view({2, 3});
  for (const Tensor& t : {x, x.t(), x.select(0, 1), x.unsqueeze(0).expand({2, 2, 3})}) {
    const Tensor c = t.clone();
    EXPECT_FALSE(c.shares_storage(t));
    EXPECT_TRUE(c.is_contiguous());
    EXPECT_TRUE(equal(c, t));
  }
  EXPECT_TRUE(x.contiguous().is_same(x));
}

TEST_P(Copying, FillWritesOnlyItsElements) {
  for (const DType dtype : kAllDtypes) {
    const Tensor x = zeros({4, 4}, TensorOptions(dtype, device()));
    x.narrow(0, 1, 2).narrow(1, 1, 2).fill_(1);
    EXPECT_EQ(sum(x.to(kF64)).item<double>(), 4);
    x.zero_();
    EXPECT_EQ(sum(x.to(kF64)).item<double>(), 0);
  }
}

}  // namespace
}  // namespace ferry::test
