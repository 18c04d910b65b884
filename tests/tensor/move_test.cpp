// SPDX-License-Identifier: Apache-2.0
//
// to(): what is shared and what is fresh, all pairs of devices and dtypes,
// strides, empty tensors.
#include "common.h"
#include "ferry/device.h"

namespace ferry::test {
namespace {

class Movement : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Movement);

TEST_P(Movement, NothingToChangeIsTheSameTensor) {
  const Tensor x = ones({3}, TensorOptions(device()));
  EXPECT_TRUE(x.to(device()).is_same(x));
  EXPECT_TRUE(x.to(kF32).is_same(x));
  EXPECT_TRUE(x.to(device(), kF32).is_same(x));
  EXPECT_TRUE(x.to(x).is_same(x));
  x.to(device()).fill_(5);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{5, 5, 5}));
  const Tensor copied = x.to(device(), {.copy = true});
  EXPECT_FALSE(copied.shares_storage(x));
  copied.fill_(1);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{5, 5, 5}));
}

TEST_P(Movement, DeviceAndDtypeInOneCall) {
  for (const std::string& other : device_names()) {
    for (const DType from : kAllDtypes) {
      for (const DType to : kAllDtypes) {
        const Tensor x = ones({10}, TensorOptions(from, device()));
        const Tensor like = zeros({1}, TensorOptions(to, Device(other)));
        const std::vector<double> expected(10, 1.0);
        for (const Tensor& y : {x.to(Device(other), to), x.to(like), x.to(Device(other)).to(to),
                                x.to(to).to(Device(other))}) {
          ASSERT_EQ(y.device(), Device(other));
          ASSERT_EQ(y.dtype(), to);
          ASSERT_EQ(array_of(y).data, expected);
        }
      }
    }
  }
}

TEST_P(Movement, PatternsBetweenAllPairs) {
  std::vector<int32_t> pattern(1024);
  for (size_t i = 0; i < pattern.size(); ++i)
    pattern[i] = static_cast<int32_t>(i * 2654435761u) | 1;
  for (const std::string& other : device_names()) {
    const Tensor there = tensor(pattern, {1024}, device()).to(Device(other));
    EXPECT_EQ(there.to_vector<int32_t>(), pattern) << other;
    EXPECT_EQ(there.to(device()).to_vector<int32_t>(), pattern) << other;
  }
}

TEST_P(Movement, BigTensorsThroughStaging) {
  const int64_t n = 3 * (1 << 20) + 17;
  const Tensor x = arange(0, n, 1, TensorOptions(kI32, device()));
  for (const std::string& other : device_names()) {
    const Tensor y = x.to(Device(other));
    EXPECT_TRUE(equal(y.cpu(), arange(0, n, 1, TensorOptions(kI32, Device())))) << other;
  }
}

TEST_P(Movement, StridesAreKeptOrMadeContiguous) {
  for (const std::string& other : device_names()) {
    const Tensor base = arange(0, 24, 1, TensorOptions(device())).view({2, 3, 4});
    const Tensor turned = base.permute({2, 0, 1});
    const Tensor there = turned.to(Device(other), {.copy = true});
    EXPECT_EQ(there.strides(), turned.strides());
    EXPECT_EQ(there.to_vector<int64_t>(), turned.to_vector<int64_t>());
    const Tensor repeated = base.narrow(1, 1, 1).expand({2, 5, 4});
    const Tensor dense = repeated.to(Device(other), {.copy = true});
    EXPECT_TRUE(dense.is_contiguous());
    EXPECT_EQ(dense.to_vector<int64_t>(), repeated.to_vector<int64_t>());
    const Tensor gaps = base.slice(2, 0, 4, 2);
    EXPECT_EQ(gaps.to(Device(other), kF64).to_vector<double>()[1], 2);
    const Tensor offset = base.narrow(0, 1, 1);
    EXPECT_EQ(offset.to(Device(other), {.non_blocking = true}).to_vector<int64_t>(),
              offset.to_vector<int64_t>());
  }
}

TEST_P(Movement, EmptyTensorsKeepTheirShape) {
  for (const std::string& other : device_names()) {
    for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{2, 0, 4}, Shape{2, 1, 1, 0}}) {
      const Tensor x = empty(shape, TensorOptions(device()));
      const Tensor y = x.to(Device(other), kF64);
      EXPECT_EQ(y.shape(), shape);
      EXPECT_EQ(y.dtype(), kF64);
      EXPECT_EQ(y.device(), Device(other));
      EXPECT_EQ(y.clone().shape(), shape);
      EXPECT_EQ((y + 1).shape(), shape);
      EXPECT_EQ(y.fill_(1).numel(), 0);
    }
    EXPECT_EQ(ones({}, TensorOptions(device())).to(Device(other)).dim(), 0);
  }
}

TEST_P(Movement, SetDataIsSeenByEveryHandle) {
  const Tensor x = ones({2}, TensorOptions(device()));
  const Tensor handle = x;
  for (const std::string& other : device_names()) {
    x.set_data(full({3, 3}, 2.0, TensorOptions(kF64, Device(other))));
    EXPECT_EQ(handle.device(), Device(other));
    EXPECT_EQ(handle.shape(), (Shape{3, 3}));
    EXPECT_EQ(handle.dtype(), kF64);
  }
}

TEST_P(Movement, NonBlockingReadsWait) {
  for (int i = 0; i < 20; ++i) {
    const Tensor x = full({100000}, i, TensorOptions(kI32, device()));
    const Tensor y = x.to(Device(), {.non_blocking = true});
    EXPECT_EQ(sum(y).item<int64_t>(), int64_t{100000} * i);
    const Tensor z = (x + 1).to(Device(), {.non_blocking = true});
    EXPECT_EQ(z.data_ptr<int32_t>()[99999], i + 1);
  }
}

TEST_P(Movement, PageableSourcesAreFreeOnReturn) {
  std::vector<float> values(1 << 18, 1.0f);
  const Tensor source = from_blob(values.data(), {1 << 18}, kF32);
  const Tensor there = source.to(device(), {.non_blocking = true, .copy = true});
  std::fill(values.begin(), values.end(), 0.0f);
  EXPECT_EQ(sum(there).item<float>(), static_cast<float>(1 << 18));
}

TEST_P(Movement, HostPointersOnlyWhereTheHostMayTouch) {
  const Tensor x = ones({2}, TensorOptions(device()));
  if (device().is_cpu()) {
    EXPECT_EQ(x.data_ptr<float>()[1], 1);
    EXPECT_NE(error_of([&] { (void)x.data_ptr<int>(); }).find("float32"), std::string::npos);
  } else {
    EXPECT_NE(error_of([&] { (void)x.data_ptr(); }).find("cpu()"), std::string::npos);
  }
}

}  // namespace
}  // namespace ferry::test
