// SPDX-License-Identifier: Apache-2.0
//
// Creation: shapes, dtypes, devices, and sizes beyond all bounds.
#include <cmath>
#include <limits>

#include "common.h"
#include "ferry/stream.h"

namespace ferry::test {
namespace {

class Creation : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Creation);

TEST_P(Creation, FilledTensors) {
  for (const DType dtype : kAllDtypes) {
    const TensorOptions options(dtype, device());
    EXPECT_TRUE(matches(zeros({2, 3}, options), reference::Array({2, 3}), 0));
    EXPECT_TRUE(matches(ones({3}, options), reference::Array({3}, {1, 1, 1}), 0));
    EXPECT_EQ(zeros({0, 3}, options).shape(), (Shape{0, 3}));
    EXPECT_EQ(ones({}, options).to(kF64).item<double>(), 1);
  }
  EXPECT_EQ(full({2}, 0.5, TensorOptions(kBool, device())).to(kU8).to_vector<uint8_t>(),
            (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ(full({1}, 7, TensorOptions(device())).dtype(), kI64);
  EXPECT_EQ(full({1}, true, TensorOptions(device())).dtype(), kBool);
  EXPECT_EQ(full({1}, 1.5, TensorOptions(device())).dtype(), kF32);
}

TEST_P(Creation, Ranges) {
  const TensorOptions on(device());
  EXPECT_EQ(arange(0, 5, 1, on).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(arange(5, 0, -2, on).to_vector<int64_t>(), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_EQ(arange(0.0, 1.0, 0.25, on).to_vector<float>(),
            (std::vector<float>{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(arange(3, 3, 1, on).numel(), 0);
  // Integers that doubles do not tell apart.
  const int64_t big = 9007199254740992;
  EXPECT_EQ(arange(big + 1, big + 4, 1, on).to_vector<int64_t>(),
            (std::vector<int64_t>{big + 1, big + 2, big + 3}));
  EXPECT_EQ(arange(big + 5, big, -2, on).to_vector<int64_t>(),
            (std::vector<int64_t>{big + 5, big + 3, big + 1}));
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(arange(-most - 1, most, most, on).to_vector<int64_t>(),
            (std::vector<int64_t>{-most - 1, -1, most - 1}));
  EXPECT_THROW((void)arange(most - 1, most - 2, 1, on), InvalidArgument);
  EXPECT_EQ(arange(0, 3, 1, TensorOptions(kI32, device())).dtype(), kI32);
  EXPECT_NE(error_of([&] { (void)arange(0, 5, -1, on); }).find("away"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)arange(0, 5, 0, on); }).find("step"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)arange(0.0, std::nan(""), 1, on); }).find("finite"),
            std::string::npos);
}

TEST_P(Creation, HostDataAndBack) {
  const std::vector<int16_t> values = {1, -2, 3, -4, 5, -6};
  const Tensor t = tensor(values, {2, 3}, device());
  EXPECT_EQ(t.device(), device());
  EXPECT_EQ(t.dtype(), kI16);
  EXPECT_EQ(t.to_vector<int16_t>(), values);
  EXPECT_EQ(t.t().to_vector<int16_t>(), (std::vector<int16_t>{1, -4, -2, 5, 3, -6}));
  EXPECT_NE(error_of([&] { (void)tensor(values, {4}); }).find("6 values do not fill shape [4]"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)t.to_vector<float>(); }).find("int16"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)t.item<int>(); }).find("6 elements"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)from_host(nullptr, kF32, {2}, device()); }).find("null"),
            std::string::npos);
}

TEST_P(Creation, AbsurdSizesAreRefused) {
  const TensorOptions on(device());
  const int64_t huge = int64_t{1} << 40;
  EXPECT_NE(error_of([&] { (void)empty({huge, huge}, on); }).find("64 bits"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)empty({-1}, on); }).find("negative"), std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)empty({1, 1, 1, 1, 1, 1, 1, 1, 1}, on);
            }).find("at most 8"),
            std::string::npos);
  EXPECT_THROW((void)empty({huge, int64_t{1} << 18}, on), OutOfMemoryError);
  EXPECT_EQ(empty({huge, huge, 0}, on).numel(), 0);
  // Counts and byte sizes that wrap to something small.
  for (const Shape& shape : {Shape{2, 2, 1, int64_t{1} << 61}, Shape{2, 4, 1 << 29, 1 << 29},
                             Shape{int64_t{1} << 62}, Shape{3, int64_t{1} << 62}}) {
    EXPECT_NE(error_of([&] { (void)empty(shape, TensorOptions(kF64, device())); }).find("64 bits"),
              std::string::npos)
        << to_string(shape);
    EXPECT_THROW((void)zeros(shape, TensorOptions(kF64, device())), InvalidArgument);
  }
  EXPECT_EQ(empty({0, int64_t{1} << 62, 4}, on).shape(), (Shape{0, int64_t{1} << 62, 4}));
  EXPECT_THROW((void)ones({1}, on).expand({4, int64_t{1} << 62}), InvalidArgument);
  EXPECT_THROW((void)arange(0.0, 1e30, 1, on), InvalidArgument);
  EXPECT_EQ(sum(ones({3}, on)).item<float>(), 3);
}

TEST_P(Creation, LikeAnother) {
  const Tensor t = ones({2, 3}, TensorOptions(kI16, device())).t();
  for (const Tensor& like : {empty_like(t), zeros_like(t)}) {
    EXPECT_EQ(like.shape(), (Shape{3, 2}));
    EXPECT_EQ(like.dtype(), kI16);
    EXPECT_EQ(like.device(), device());
    EXPECT_FALSE(like.shares_storage(t));
  }
  EXPECT_EQ(sum(zeros_like(t)).item<int64_t>(), 0);
}

TEST_P(Creation, ItemsOfEveryDtype) {
  for (const DType dtype : kAllDtypes) {
    const Tensor t = arange(0, 6, 1, TensorOptions(device())).to(dtype);
    EXPECT_EQ(t[1].item<int>(), 1) << name(dtype);
    EXPECT_EQ(t.narrow(0, 1, 1).item<double>(), 1) << name(dtype);
    EXPECT_EQ(t[0].item<bool>(), false) << name(dtype);
    if (dtype != kBool) {
      EXPECT_EQ(t.view({2, 3}).t()[2][1].item<float>(), 5) << name(dtype);
    }
  }
  EXPECT_EQ(full({1, 1, 1}, -2.75, TensorOptions(device())).item<double>(), -2.75);
  EXPECT_EQ(full({}, -2.75, TensorOptions(device())).item<int>(), -2);
  EXPECT_NE(error_of([&] { (void)empty({0}, TensorOptions(device())).item<int>(); }).find("[0]"),
            std::string::npos);
  EXPECT_TRUE(empty({0, 2}, TensorOptions(device())).to_vector<float>().empty());
}

TEST_P(Creation, NumbersAreConvertedToTheDtype) {
  EXPECT_EQ(full({1}, 300, TensorOptions(kU8, device())).item<int>(), 44);
  EXPECT_EQ(full({1}, -1, TensorOptions(kU8, device())).item<int>(), 255);
  EXPECT_EQ(full({1}, 2.9, TensorOptions(kI32, device())).item<int>(), 2);
  EXPECT_EQ(full({1}, std::nan(""), TensorOptions(kI64, device())).item<int64_t>(), 0);
  const int64_t big = 9007199254740993;
  EXPECT_EQ(full({1}, big, TensorOptions(device())).item<int64_t>(), big);
  EXPECT_EQ(full({1}, 0.1, TensorOptions(kF64, device())).item<double>(), 0.1);
  EXPECT_EQ(full({1}, 1e300, TensorOptions(kF16, device())).item<double>(),
            std::numeric_limits<double>::infinity());
}

TEST_P(Creation, FollowsTheThreadsDevice) {
  const Device before = current_device();
  {
    const DeviceGuard guard(device());
    EXPECT_EQ(zeros({2}).device(), device());
    EXPECT_EQ(tensor<float>({1}).device(), Device());
  }
  EXPECT_EQ(zeros({2}).device(), before);
}

TEST(CreationOnCpu, BlobsCallTheirDeleterOnce) {
  std::vector<float> values = {1, 2, 3, 4};
  int calls = 0;
  {
    const Tensor t = from_blob(values.data(), {2, 2}, kF32, [&](void* p) {
      EXPECT_EQ(p, values.data());
      ++calls;
    });
    const Tensor view = t.t();
    values[1] = 9;
    EXPECT_EQ(view.to_vector<float>(), (std::vector<float>{1, 3, 9, 4}));
    for (const std::string& device : device_names()) {
      const Tensor there = t.to(Device(device));
      (void)(there + 1);
    }
    EXPECT_EQ((t + t).to_vector<float>()[3], 8);
    EXPECT_EQ(calls, 0);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_THROW((void)from_blob(nullptr, {2}, kF32), InvalidArgument);
  EXPECT_THROW((void)from_blob(reinterpret_cast<char*>(values.data()) + 1, {2}, kF32),
               InvalidArgument);
}

TEST(CreationOnCpu, MovedBlobsDoNotKeepTheCallersMemory) {
  for (const std::string& device : device_names()) {
    Tensor moved;
    {
      std::vector<float> values = {1, 2, 3};
      moved = from_blob(values.data(), {3}, kF32).to(Device(device), {.copy = true});
      values.assign(3, 0);
    }
    EXPECT_EQ(moved.to_vector<float>(), (std::vector<float>{1, 2, 3}));
  }
}

}  // namespace
}  // namespace ferry::test
