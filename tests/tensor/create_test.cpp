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
