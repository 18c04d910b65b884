// SPDX-License-Identifier: Apache-2.0
//
// load_state_dict(): what it accepts, what it says of the rest, and that a
// refusal leaves the module as it was. Each on the CPU and on an accelerator.
#include <gtest/gtest.h>

#include <functional>

#include "ferry/error.h"
#include "nets.h"

namespace ferry::tests {
namespace {

using Names = std::vector<std::string>;

/// Values 1, 2, 3, ... in every tensor.
StateDict counted(const nn::Module& module, DType dtype = kF32) {
  StateDict out;
  for (const auto& [name, tensor] : module.state_dict()) {
    const DType d = is_floating_point(tensor.dtype()) ? dtype : tensor.dtype();
    out.set(name, arange(1, tensor.numel() + 1).to(d).reshape(tensor.shape()));
  }
  return out;
}

class Load : public testing::TestWithParam<const char*> {
 protected:
  Device device() const { return Device(GetParam()); }

  /// The message of a refused load, after which nothing has changed.
  std::string refused(nn::Module& module, const StateDict& state, nn::LoadOptions options = {}) {
    const auto before = values_of(module);
    const std::string text =
        text_of<InvalidArgument>([&] { module.load_state_dict(state, options); });
    EXPECT_EQ(values_of(module), before);
    return text;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Load, testing::Values("cpu", "sim:0"),
                         [](const auto& info) { return info.index == 0 ? "cpu" : "sim"; });

TEST_P(Load, WritesIntoTheSameTensors) {
  Net net;
  net.to(device());
  const nn::Parameter weight = net.fc1.weight;
  const nn::LoadResult result = net.load_state_dict(counted(net));
  EXPECT_TRUE(result.missing.empty() && result.unexpected.empty() && result.tied.empty());
  EXPECT_TRUE(net.fc1.weight.is_same(weight));
  EXPECT_EQ(weight.device(), device());
  EXPECT_EQ(weight.to_vector<float>()[49], 50.0f);
  EXPECT_EQ(net.fc2.bias.item<float>(), 1.0f);
}

TEST_P(Load, ConvertsFloatingDtypes) {
  for (const DType own : {kF16, kBF16, kF32, kF64}) {
    for (const DType given : {kF16, kBF16, kF32, kF64}) {
      Net net;
      net.to(device(), own);
      net.load_state_dict(counted(net, given));
      EXPECT_EQ(net.fc1.weight.dtype(), own);
      EXPECT_EQ(net.fc1.weight.to(kF32).to_vector<float>()[49], 50.0f)
          << name(own) << " from " << name(given);
    }
  }
}

TEST_P(Load, ReadsFromAnyDevice) {
  for (const char* from : {"cpu", "sim:0", "sim:1"}) {
    Net net;
    net.to(device());
    StateDict state = counted(net, kF16);
    for (const auto& [name, tensor] : StateDict(state)) state.set(name, tensor.to(from));
    net.load_state_dict(state);
    EXPECT_EQ(net.fc1.weight.to_vector<float>()[49], 50.0f) << from;
  }
}

TEST_P(Load, ReadsStridedTensors) {
  for (const DType given : {kF32, kF64}) {
    nn::Linear fc(2, 3, {.bias = false});
    fc.to(device());
    const Tensor transposed = arange(0, 6).to(given).view({2, 3}).t();
    fc.load_state_dict({{"weight", transposed}});
    EXPECT_EQ(fc.weight.to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  }
}

TEST_P(Load, WritesStridedTensors) {
  for (const DType given : {kF32, kF64}) {
    nn::Linear fc(2, 3, {.bias = false});
    fc.weight = nn::Parameter(zeros({2, 3}).to(device()).t());
    fc.load_state_dict({{"weight", arange(0, 6).to(given).view({3, 2})}});
    EXPECT_EQ(fc.weight.to_vector<float>(), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(fc.weight.strides(), (Shape{1, 3}));
  }
}

TEST_P(Load, NamesEverythingThatIsMissingOrUnexpected) {
  Net net;
  net.to(device());
  StateDict state;
  state.set("fc1.weight", zeros({5, 10}));
  state.set("fc2.bias", zeros({1}));
  state.set("fc3.bias", zeros({1}));
  EXPECT_EQ(refused(net, state),
            "[load_state_dict] the state dict does not fit Net; nothing was loaded\n"
            "  2 missing keys: 'fc1.bias', 'fc2.weight'\n"
            "  1 unexpected key: 'fc3.bias'");
}

TEST_P(Load, ReturnsWhatDoesNotFitWhereThatIsAllowed) {
  Net net;
  net.to(device());
  const nn::LoadResult result = net.load_state_dict(
      {{"fc2.bias", full({1}, 5.0)}, {"fc3.bias", zeros({1})}}, {.strict = false});
  EXPECT_EQ(result.missing, (Names{"fc1.weight", "fc1.bias", "fc2.weight"}));
  EXPECT_EQ(result.unexpected, Names{"fc3.bias"});
  EXPECT_EQ(net.fc2.bias.item<float>(), 5.0f);
}

TEST_P(Load, NamesWrongShapesAndDtypesAlsoWithoutStrict) {
  Net net;
  net.to(device());
  StateDict state = counted(net);
  state.set("fc1.weight", zeros({10, 5}));
  state.set("fc2.weight", zeros({1, 5}, kI64));
  state.set("fc2.bias", Tensor());
  const std::string text =
      "[load_state_dict] the state dict does not fit Net; nothing was loaded\n"
      "  'fc1.weight' is [5, 10] in the module and [10, 5] in the state dict\n"
      "  'fc2.weight' is float32 in the module and int64 in the state dict, which may lose "
      "values\n"
      "  'fc2.bias' is undefined in the state dict";
  EXPECT_EQ(refused(net, state), text);
  EXPECT_EQ(refused(net, state, {.strict = false}), text);
}

TEST_P(Load, ShowsTenOfMany) {
  nn::Sequential net;
  for (int i = 0; i < 12; ++i) net.push_back(nn::Linear(1, 1, {.bias = false}));
  net.to(device());
  StateDict wrong;
  for (int i = 0; i < 12; ++i) wrong.set(std::to_string(i) + ".weight", zeros({2}));
  const std::string missing = refused(net, {});
  EXPECT_NE(missing.find("12 missing keys: '0.weight',"), std::string::npos) << missing;
  EXPECT_NE(missing.find("'9.weight', ... 2 more"), std::string::npos) << missing;
  EXPECT_NE(refused(net, wrong).find("\n  ... 2 more that do not fit"), std::string::npos);
}

TEST_P(Load, AdvisesToStripAPrefix) {
  nn::Linear fc(2, 2);
  fc.to(device());
  const StateDict state = counted(fc).add_prefix("module.");
  EXPECT_EQ(refused(fc, state),
            "[load_state_dict] the state dict does not fit Linear; nothing was loaded\n"
            "  2 missing keys: 'weight', 'bias'\n"
            "  2 unexpected keys: 'module.weight', 'module.bias'\n"
            "  the missing keys are there with the prefix \"module.\": load "
            "state.strip_prefix(\"module.\")");
  fc.load_state_dict(state.strip_prefix("module."));
  EXPECT_EQ(fc.bias.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST_P(Load, AdvisesToAddAPrefix) {
  Net net;
  net.to(device());
  const StateDict state = {{"weight", zeros({5, 10})}, {"bias", zeros({5})}};
  EXPECT_NE(refused(net, state)
                .find("the unexpected keys fit with the prefix \"fc1.\": load "
                      "state.add_prefix(\"fc1.\")"),
            std::string::npos);
}

class Scalars : public nn::Module {
 public:
  nn::Parameter zero_dim{zeros({})}, one{zeros({1})};
  nn::Buffer count{zeros({}, kI64)}, small{zeros({}, kU8)};
  FERRY_MODULE(zero_dim, one, count, small)
  Tensor forward(const Tensor& x) const { return x; }
};

TEST_P(Load, NeverBroadcasts) {
  Scalars module;
  module.to(device());
  const auto with = [&](const char* name, const Tensor& tensor) {
    StateDict state = counted(module);
    state.set(name, tensor);
    return state;
  };
  EXPECT_NE(refused(module, with("zero_dim", tensor<float>({7, 8}))), "");
  EXPECT_NE(refused(module, with("one", full({}, 7.0))), "");
  module.load_state_dict(with("zero_dim", tensor<float>({7})));
  EXPECT_EQ(module.zero_dim.item<float>(), 7.0f);
  EXPECT_EQ(module.zero_dim.shape(), Shape());
}

TEST_P(Load, NeverTurnsFloatingIntoIntegers) {
  Scalars module;
  module.to(device());
  const auto with = [&](const char* name, DType dtype) {
    StateDict state = counted(module);
    state.set(name, full({}, 3, dtype));
    return state;
  };
  EXPECT_NE(refused(module, with("count", kF32)), "");
  EXPECT_NE(refused(module, with("small", kI64)), "");
  EXPECT_NE(refused(module, with("small", kI8)), "");
  module.load_state_dict(with("count", kI32));
  EXPECT_EQ(module.count.item<int64_t>(), 3);
}

TEST_P(Load, AcceptsOneNameOfTiedTensorsAndSaysSo) {
  Lm lm;
  lm.to(device());
  StateDict state;
  for (const auto& [name, tensor] : counted(lm)) {
    if (name != "embedding.weight") state.set(name, tensor);
  }
  const nn::LoadResult result = lm.load_state_dict(state);
  EXPECT_EQ(result.tied, Names{"embedding.weight"});
  EXPECT_TRUE(result.missing.empty());
  EXPECT_TRUE(lm.head.weight.is_same(lm.embedding.weight));
  EXPECT_EQ(lm.embedding.weight.to_vector<float>()[65], 66.0f);
}

TEST_P(Load, MissesTheOtherNameWhereNothingIsTied) {
  Lm lm;
  lm.head.weight = nn::Parameter(zeros({11, 6}));
  lm.to(device());
  StateDict state;
  for (const auto& [name, tensor] : counted(lm)) {
    if (name != "head.weight") state.set(name, tensor);
  }
  EXPECT_NE(refused(lm, state).find("1 missing key: 'head.weight'"), std::string::npos);
}

TEST_P(Load, RefusesTwoValuesForOneTensor) {
  Lm lm;
  lm.to(device());
  StateDict state = counted(lm);
  lm.load_state_dict(state);  // stored twice, with equal values
  state.set("head.weight", zeros({11, 6}));
  EXPECT_EQ(refused(lm, state),
            "[load_state_dict] the state dict does not fit Lm; nothing was loaded\n"
            "  'head.weight' and 'embedding.weight' are one tensor in the module, but differ in "
            "the state dict");
}

TEST_P(Load, RefusesTargetsWhoseElementsShareMemory) {
  nn::Linear fc(2, 3, {.bias = false});
  fc.weight = nn::Parameter(zeros({1, 2}).to(device()).expand({3, 2}));
  const std::string text = text_of<InvalidArgument>([&] {
    fc.load_state_dict({{"weight", ones({3, 2})}});
  });
  EXPECT_NE(text.find("'weight' has elements that share memory"), std::string::npos) << text;
  EXPECT_EQ(fc.weight.to_vector<float>(), std::vector<float>(6, 0));
}

TEST_P(Load, TakesItsOwnState) {
  Net net;
  net.to(device());
  const auto before = values_of(net);
  net.load_state_dict(net.state_dict());
  EXPECT_EQ(values_of(net), before);
}

TEST_P(Load, ReadsItsOwnTensorsBeforeItWritesThem) {
  nn::Sequential net(nn::Linear(2, 2, {.bias = false}), nn::Linear(2, 2, {.bias = false}));
  net.to(device());
  const auto before = values_of(net);
  const StateDict own = net.state_dict();
  net.load_state_dict({{"0.weight", own.at("1.weight")}, {"1.weight", own.at("0.weight").t()}});
  const auto after = values_of(net);
  EXPECT_EQ(after[0], before[1]);
  EXPECT_EQ(after[1],
            (std::vector<double>{before[0][0], before[0][2], before[0][1], before[0][3]}));
}

TEST_P(Load, TakesAModuleWithoutState) {
  nn::ReLU relu;
  relu.load_state_dict({});
  EXPECT_NE(refused(relu, {{"weight", ones({1})}}), "");
}

}  // namespace
}  // namespace ferry::tests
