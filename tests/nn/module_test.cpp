// SPDX-License-Identifier: Apache-2.0
//
// What FERRY_MODULE gives: names, order, printing, modes, copies and clones.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "ferry/error.h"
#include "nets.h"

namespace ferry::tests {
namespace {

using Names = std::vector<std::string>;

TEST(Module, StateDictHasPyTorchsNamesAndOrder) {
  EXPECT_EQ(names_of(Net().state_dict()),
            (Names{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}));
  EXPECT_EQ(names_of(Blocks().state_dict()),
            (Names{"scale", "shift", "stem.weight", "stem.bias", "layers.0.weight", "layers.0.bias",
                   "layers.1.weight", "layers.1.bias", "head.1.weight"}));
  EXPECT_EQ(names_of(nn::BatchNorm2d(3).state_dict()),
            (Names{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
}

TEST(Module, BatchesAreCountedInA0DimInt64) {
  const nn::BatchNorm2d norm(3);
  EXPECT_EQ(norm.num_batches_tracked.dtype(), kI64);
  EXPECT_EQ(norm.num_batches_tracked.shape(), Shape());
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 0);
}

TEST(Module, AbsentTensorsAreSkipped) {
  EXPECT_EQ(names_of(nn::Linear(3, 4, {.bias = false}).state_dict()), Names{"weight"});
  EXPECT_EQ(names_of(nn::Conv2d(1, 2, 3, {.bias = false}).state_dict()), Names{"weight"});
  EXPECT_EQ(names_of(nn::LayerNorm(3, {.bias = false}).state_dict()), Names{"weight"});
  EXPECT_TRUE(nn::LayerNorm(3, {.elementwise_affine = false}).state_dict().empty());
  EXPECT_EQ(names_of(nn::BatchNorm2d(3, {.affine = false}).state_dict()),
            (Names{"running_mean", "running_var", "num_batches_tracked"}));
  EXPECT_EQ(names_of(nn::BatchNorm2d(3, {.track_running_stats = false}).state_dict()),
            (Names{"weight", "bias"}));
}

TEST(Module, StateDictHoldsTheModulesOwnTensors) {
  const Net net;
  EXPECT_TRUE(net.state_dict().at("fc2.bias").is_same(net.fc2.bias));
}

TEST(Module, TiedTensorsHaveAllNamesInTheStateDictAndOneAmongParameters) {
  const Lm lm;
  EXPECT_EQ(names_of(lm.state_dict()),
            (Names{"embedding.weight", "norm.weight", "norm.bias", "head.weight"}));
  Names names;
  for (const auto& [name, tensor] : lm.named_parameters()) names.push_back(name);
  EXPECT_EQ(names, (Names{"embedding.weight", "norm.weight", "norm.bias"}));
  EXPECT_EQ(lm.parameters().size(), 3u);
}

TEST(Module, BuffersAreNoParameters) {
  const Blocks blocks;
  ASSERT_EQ(blocks.named_buffers().size(), 1u);
  EXPECT_EQ(blocks.named_buffers()[0].first, "shift");
  EXPECT_EQ(blocks.parameters().size(), 8u);
}

TEST(Module, NamedModulesBeginWithTheModuleItself) {
  Blocks blocks;
  Names names;
  for (const auto& [name, module] : blocks.named_modules()) names.push_back(name);
  EXPECT_EQ(names, (Names{"", "stem", "layers.0", "layers.1", "head", "head.0", "head.1"}));
  EXPECT_EQ(blocks.named_modules()[1].second, &blocks.stem);
  EXPECT_EQ(std::as_const(blocks).named_modules()[2].second, &blocks.layers[0]);
}

class Transient : public nn::Module {
 public:
  nn::Buffer kept{ones({2})}, table{ones({3}), false};
  std::optional<nn::Linear> maybe;
  FERRY_MODULE(kept, table, maybe)
  Tensor forward(const Tensor& x) const { return maybe ? (*maybe)(x) : x; }
};

TEST(Module, BuffersThatAreNotPersistentAreNoState) {
  Transient module;
  EXPECT_EQ(names_of(module.state_dict()), Names{"kept"});
  EXPECT_EQ(module.named_buffers().size(), 2u);
  module.to(kF64);
  EXPECT_EQ(module.table.dtype(), kF64);
}

TEST(Module, OptionalModulesCountWhereTheyAre) {
  Transient module;
  module.maybe.emplace(2, 2);
  EXPECT_EQ(names_of(module.state_dict()), (Names{"kept", "maybe.weight", "maybe.bias"}));
}

class Wide : public nn::Module {
 public:
#define FOUR(p) p##0, p##1, p##2, p##3
#define SIXTEEN(p) FOUR(p##0), FOUR(p##1), FOUR(p##2), FOUR(p##3)
  nn::Parameter SIXTEEN(a), SIXTEEN(b), SIXTEEN(c), SIXTEEN(d), SIXTEEN(e);
  FERRY_MODULE(a00, a01, a02, a03, a10, a11, a12, a13, a20, a21, a22, a23, a30, a31, a32, a33, b00,
               b01, b02, b03, b10, b11, b12, b13, b20, b21, b22, b23, b30, b31, b32, b33, c00, c01,
               c02, c03, c10, c11, c12, c13, c20, c21, c22, c23, c30, c31, c32, c33, d00, d01, d02,
               d03, d10, d11, d12, d13, d20, d21, d22, d23, d30, d31, d32, d33, e00, e01, e02, e03,
               e10, e11, e12, e13, e20, e21, e22, e23, e30, e31, e32, e33)
#undef SIXTEEN
#undef FOUR
  Tensor forward(const Tensor& x) const { return x; }
};

TEST(Module, TakesEightyNames) {
  Wide module;
  module.a00 = nn::Parameter(ones({1}));
  module.e33 = nn::Parameter(ones({1}));
  EXPECT_EQ(names_of(module.state_dict()), (Names{"a00", "e33"}));
}

class Clash : public nn::Module {
 public:
  nn::Linear fc{1, 1}, fc_{1, 1};
  FERRY_MODULE(fc, fc_)
  Tensor forward(const Tensor& x) const { return fc(x); }
};

TEST(Module, RefusesTwoPartsOfOneName) {
  const std::string text = text_of<InvalidArgument>([] { (void)Clash().state_dict(); });
  EXPECT_EQ(text, "[FERRY_MODULE] two parts have the name 'fc'");
}

class Derived : public Net {
 public:
  nn::Linear fc3{1, 1};
  FERRY_MODULE(Net::fc1, this->fc2, fc3)
  Tensor forward(const Tensor& x) const { return fc3(Net::forward(x)); }
};

TEST(Module, NamesMembersOfItsBaseToo) {
  const Derived net;
  EXPECT_EQ(names_of(net.state_dict()),
            (Names{"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"}));
  EXPECT_EQ(net(ones({2, 10})).shape(), (Shape{2, 1}));
}

class TwoInputs : public nn::Module {
 public:
  nn::Linear fc{2, 2};
  int calls = 0;
  FERRY_MODULE(fc)
  Tensor forward(const Tensor& x, const Tensor& y, double factor) {
    ++calls;
    return fc(x) + y * factor;
  }
};

TEST(Module, CallsForwardWithAnyArguments) {
  TwoInputs net;
  const Tensor x = ones({1, 2});
  EXPECT_TRUE(equal(net(x, x, 2.0), net.fc(x) + 2.0));
  EXPECT_EQ(net.calls, 1);
}

TEST(Module, TrainAndEvalReachEveryPart) {
  Blocks blocks;
  EXPECT_TRUE(blocks.is_training() && blocks.head[0].module().is_training());
  blocks.eval();
  for (const auto& [name, module] : blocks.named_modules()) EXPECT_FALSE(module->is_training());
  blocks.train();
  for (const auto& [name, module] : blocks.named_modules()) EXPECT_TRUE(module->is_training());
}

TEST(Module, CopiesShareParametersButNotTheMode) {
  Blocks one;
  Blocks two = one;
  EXPECT_TRUE(two.stem.weight.is_same(one.stem.weight));
  EXPECT_TRUE(two.head.state_dict().at("1.weight").is_same(one.head.state_dict().at("1.weight")));
  two.eval();
  EXPECT_TRUE(one.head[1].module().is_training());
  one.scale.fill_(7);
  EXPECT_EQ(two.scale.to_vector<float>(), std::vector<float>(4, 7));
}

TEST(Module, ClonesShareNothing) {
  const Blocks one;
  const Blocks two = nn::clone(one);
  const auto before = values_of(one);
  EXPECT_EQ(values_of(two), before);
  for (const auto& [name, tensor] : two.state_dict()) {
    EXPECT_FALSE(tensor.shares_storage(one.state_dict().at(name))) << name;
    tensor.fill_(3);
  }
  EXPECT_EQ(values_of(one), before);
}

TEST(Module, ClonesKeepTies) {
  const Lm one;
  const Lm two = nn::clone(one);
  EXPECT_TRUE(two.head.weight.is_same(two.embedding.weight));
  EXPECT_FALSE(two.head.weight.shares_storage(one.head.weight));
  EXPECT_TRUE(equal(two.head.weight, one.head.weight));
}

TEST(Module, ClonesAreMadeWithoutAbsentTensors) {
  const nn::Linear copy = nn::clone(nn::Linear(3, 4, {.bias = false}));
  EXPECT_FALSE(copy.bias.defined());
  EXPECT_EQ(copy(ones({3})).shape(), Shape{4});
}

TEST(Module, MovedFromModulesAreEmpty) {
  Net net;
  const Net taken = std::move(net);
  EXPECT_EQ(taken.parameters().size(), 4u);
  EXPECT_TRUE(net.state_dict().empty());  // NOLINT(bugprone-use-after-move)
  net.to(kF64);
}

template <class T>
class Wrapped : public nn::Module {
 public:
  T inner;
  explicit Wrapped(T value) : inner(std::move(value)) {}
  FERRY_MODULE(inner)
  Tensor forward(const Tensor& x) const { return inner(x); }
};

TEST(Module, PrintsTheNameOfItsClass) {
  const Wrapped<nn::Sequential> module{nn::Sequential(nn::Tanh(), nn::Identity())};
  std::ostringstream out;
  out << module;
  EXPECT_EQ(out.str(),
            "Wrapped(\n"
            "  (inner): Sequential(\n"
            "    (0): Tanh()\n"
            "    (1): Identity()\n"
            "  )\n"
            ")");
}

TEST(Module, PrintsNumbersAsPythonDoes) {
  EXPECT_EQ(nn::BatchNorm2d(2, {.eps = 1, .momentum = {}}).str(),
            "BatchNorm2d(2, eps=1.0, momentum=None, affine=True, track_running_stats=True)");
  EXPECT_EQ(nn::MaxPool2d({2, 3}).str(),
            "MaxPool2d(kernel_size=(2, 3), stride=(2, 3), padding=0, dilation=1, "
            "ceil_mode=False)");
  EXPECT_EQ(nn::GELU({.tanh = true}).str(), "GELU(approximate='tanh')");
}

TEST(Sequential, IsIndexedFromBothEnds) {
  nn::Sequential net(nn::Linear(2, 3), nn::ReLU());
  net.push_back(nn::Linear(3, 1));
  ASSERT_EQ(net.size(), 3u);
  EXPECT_EQ(net[0].as<nn::Linear>().out_features(), 3);
  EXPECT_EQ(&net[-1].module(), &net[2].module());
  const Tensor x = ones({4, 2});
  EXPECT_TRUE(equal(net(x), net[2](net[1](net[0](x)))));
  EXPECT_EQ(names_of(net.state_dict()), (Names{"0.weight", "0.bias", "2.weight", "2.bias"}));
}

TEST(Sequential, SaysWhichLayerThereIs) {
  const nn::Sequential net(nn::Linear(2, 3), nn::ReLU());
  EXPECT_EQ(text_of<InvalidArgument>([&] { (void)net[2]; }),
            "[Sequential] there is no layer 2 among 2");
  EXPECT_EQ(text_of<InvalidArgument>([&] { (void)net[-3]; }),
            "[Sequential] there is no layer -3 among 2");
  EXPECT_EQ(text_of<InvalidArgument>([&] { (void)net[1].as<nn::Linear>(); }),
            "[Layer] this layer is a ReLU, not a Linear");
}

TEST(Sequential, HandsOnWithoutLayers) {
  const Tensor x = ones({2});
  EXPECT_TRUE(nn::Sequential()(x).is_same(x));
}

TEST(Sequential, CopiesAreIndependentValues) {
  nn::Sequential one(nn::Linear(2, 2));
  nn::Sequential two = one;
  nn::Sequential three(two);
  two.push_back(nn::ReLU());
  two[0].as<nn::Linear>().weight = nn::Parameter(ones({2, 2}));
  EXPECT_EQ(one.size(), 1u);
  EXPECT_EQ(three.size(), 1u);
  EXPECT_FALSE(one[0].as<nn::Linear>().weight.is_same(two[0].as<nn::Linear>().weight));
}

}  // namespace
}  // namespace ferry::tests
