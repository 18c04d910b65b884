// SPDX-License-Identifier: Apache-2.0
//
// What a caller does wrong is named: the operation, shapes, devices, dtypes.
#include <functional>

#include "common.h"
#include "ferry/device.h"
#include "scalar_case.h"

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

TEST_P(Errors, OpsOnBitsRefuseFloatingDtypes) {
  for (const DType dtype : {kF16, kF32, kF64}) {
    const Tensor x = ones({2}, TensorOptions(dtype, device()));
    const std::string text = error_of([&] { (void)(x & x); });
    EXPECT_NE(text.find("[bitwise_and]"), std::string::npos) << text;
    EXPECT_NE(text.find(name(dtype)), std::string::npos) << text;
  }
}

TEST_P(Errors, EveryTwoOperandOpNamesItselfAndTheShapes) {
  const TensorOptions on(kI32, device());
  for (const reference::ScalarOp& op : scalar_functions(2)) {
    const std::string text = error_of([&] {
      (void)apply(op, {ones({2, 3}, on), ones({5, 1, 2}, on)});
    });
    EXPECT_TRUE(text.starts_with("[" + std::string(op.name) + "]")) << text;
    EXPECT_NE(text.find("[2, 3] and [5, 1, 2]"), std::string::npos) << text;
  }
  const std::string text =
      error_of([&] { (void)where(ones({2}, on) > 0, ones({3}, on), ones({4}, on)); });
  EXPECT_NE(text.find("[where]"), std::string::npos) << text;
  EXPECT_NE(text.find("[2] and [3] and [4]"), std::string::npos) << text;
}

TEST_P(Errors, FunctionsNameThemselvesAndBothShapes) {
  const TensorOptions on(device());
  const Tensor x = ones({2, 3}, on);
  const struct {
    std::string text, where, one, other;
  } cases[] = {
      {error_of([&] {
         (void)matmul(x, ones({2, 3}, on));
       }),
       "matmul", "[2, 3]", "3 and 2"},
      {error_of([&] { (void)matmul(x, ones({4}, on)); }), "matmul", "[2, 3]", "[4]"},
      {error_of([&] {
         (void)linear(x, ones({5, 4}, on));
       }),
       "linear", "[2, 3]", "[5, 4]"},
      {error_of([&] {
         (void)linear(x, ones({5, 3}, on), ones({4}, on));
       }),
       "linear", "[5", "[4]"},
      {error_of([&] {
         (void)conv2d(ones({1, 4, 5, 5}, on), ones({2, 3, 1, 1}, on));
       }),
       "conv2d", "[1, 4, 5, 5]", "[2, 3, 1, 1]"},
      {error_of([&] {
         (void)gather(x, 0, zeros({3, 4}, TensorOptions(kI64, device())));
       }),
       "gather", "[2, 3]", "[3, 4]"},
      {error_of([&] {
         (void)cat({x, ones({3, 2}, on)}, 1);
       }),
       "cat", "[2, 3]", "[3, 2]"},
      {error_of([&] { (void)batch_norm(x, ones({2}, on), ones({3}, on)); }), "batch_norm", "[2, 3]",
       "[2]"},
      {error_of([&] {
         x.copy_(ones({2, 2}, on));
       }),
       "copy_", "[2, 3]", "[2, 2]"},
      {error_of([&] { (void)x.view({7}); }), "view", "[7]", "6"},
      {error_of([&] {
         (void)x.reshape({4, -1});
       }),
       "reshape", "[4, -1]", "6"},
      {error_of([&] {
         (void)x.expand({3, 3});
       }),
       "expand", "[2, 3]", "[3, 3]"},
      {error_of([&] { (void)softmax(x, 2); }), "softmax", "2", "-2..1"},
      {error_of([&] { (void)sum(x, {-3}); }), "sum", "-3", "-2..1"},
      {error_of([&] { (void)argmax(x, 5); }), "argmax", "5", "-2..1"},
  };
  for (const auto& [text, where, one, other] : cases) {
    EXPECT_TRUE(text.starts_with("[" + where + "]")) << text;
    EXPECT_NE(text.find(one), std::string::npos) << text << " lacks " << one;
    EXPECT_NE(text.find(other), std::string::npos) << text << " lacks " << other;
  }
}

TEST_P(Errors, UndefinedTensors) {
  const Tensor none;
  const Tensor one = ones({1}, TensorOptions(device()));
  const std::function<void()> uses[] = {[&] { (void)(none + one); },
                                        [&] { (void)(one + none); },
                                        [&] { (void)exp(none); },
                                        [&] { (void)where(none, one, one); },
                                        [&] { (void)clamp(one, none, one); },
                                        [&] { (void)matmul(one, none); },
                                        [&] { (void)linear(none, one); },
                                        [&] { (void)none.to(device()); },
                                        [&] { (void)none.to(kF64); },
                                        [&] { (void)one.to(none); },
                                        [&] { (void)sum(none); },
                                        [&] { (void)mean(none); },
                                        [&] { (void)argmax(none); },
                                        [&] { (void)softmax(none, 0); },
                                        [&] { (void)conv2d(none, one); },
                                        [&] {
                                          (void)conv2d(one.view({1, 1, 1, 1}), none);
                                        },
                                        [&] { (void)max_pool2d(none, {}); },
                                        [&] {
                                          (void)batch_norm(one.view({1, 1}), none, one);
                                        },
                                        [&] { (void)index_select(one, 0, none); },
                                        [&] { (void)gather(none, 0, one); },
                                        [&] { (void)embedding(none, one); },
                                        [&] {
                                          (void)cat({one, none});
                                        },
                                        [&] { (void)equal(one, none); },
                                        [&] { (void)allclose(none, one); },
                                        [&] { one.copy_(none); },
                                        [&] { none.fill_(1); },
                                        [&] { one.set_data(none); },
                                        [&] { (void)none.view({1}); },
                                        [&] { (void)none.shape(); },
                                        [&] { (void)none.item<float>(); },
                                        [&] { (void)none.data_ptr(); },
                                        [&] { (void)empty_like(none); },
                                        [&] { (void)none[0]; },
                                        [&] { (void)none.contiguous(); }};
  for (size_t i = 0; i < std::size(uses); ++i) {
    EXPECT_NE(error_of(uses[i]).find("undefined"), std::string::npos) << "use " << i;
  }
  EXPECT_EQ(sum(one).item<float>(), 1);
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
