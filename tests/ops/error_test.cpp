// SPDX-License-Identifier: Apache-2.0
//
// What a caller does wrong is named: the operation, shapes, devices, dtypes.
#include "common.h"
#include "ferry/device.h"

namespace ferry::test {
namespace {

class Errors : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Errors);

TEST_P(Errors, ShapesThatDoNotBroadcast) {
  const TensorOptions on(device());
  const std::string text = error_of([&] { (void)(ones({2, 3}, on) + ones({4}, on)); });
  EXPECT_NE(text.find("[add]"), std::string::npos) << text;
  EXPECT_NE(text.find("[2, 3] and [4]"), std::string::npos) << text;
}

TEST_P(Errors, UndefinedTensors) {
  const Tensor none;
  const Tensor one = ones({1}, TensorOptions(device()));
  EXPECT_NE(error_of([&] { (void)(none + one); }).find("undefined"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)matmul(one, none); }).find("undefined"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)none.to(device()); }).find("undefined"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)sum(none); }).find("undefined"), std::string::npos);
}

TEST_P(Errors, OperandsOnTwoDevices) {
  for (const DeviceProperties& other : devices()) {
    if (other.device == device()) continue;
    const Tensor a = ones({2, 3}, TensorOptions(device()));
    const Tensor b = ones({2, 3}, TensorOptions(other.device));
    for (const std::string& text : {error_of([&] { (void)(a + b); }),
                                    error_of([&] { (void)matmul(a, b.t()); }), error_of([&] {
                                      (void)cat({a, b});
                                    })}) {
      EXPECT_NE(text.find(device().str()), std::string::npos) << text;
      EXPECT_NE(text.find(other.device.str()), std::string::npos) << text;
      EXPECT_NE(text.find("to()"), std::string::npos) << text;
    }
  }
}

TEST_P(Errors, ZeroDimTensorsOfTheCpuGoWithAnyDevice) {
  const Tensor a = ones({2, 3}, TensorOptions(device()));
  const Tensor two = full({}, 2.0, TensorOptions(Device()));
  EXPECT_EQ((a * two).to_vector<float>(), std::vector<float>(6, 2));
  EXPECT_EQ((two * a).device(), device());
}

TEST_P(Errors, ConditionsAreBool) {
  const Tensor a = ones({2}, TensorOptions(device()));
  EXPECT_NE(error_of([&] { (void)where(a, a, a); }).find("bool"), std::string::npos);
  EXPECT_EQ(where(a > 0, a, Scalar(5)).to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST_P(Errors, DevicesGoOnAfterEveryError) {
  const Tensor a = ones({4}, TensorOptions(device()));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW((void)(a + ones({3}, TensorOptions(device()))), InvalidArgument);
    EXPECT_THROW((void)a.view({5}), InvalidArgument);
    EXPECT_EQ(sum(a).item<float>(), 4);
  }
}

}  // namespace
}  // namespace ferry::test
