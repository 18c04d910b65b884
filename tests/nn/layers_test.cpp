// SPDX-License-Identifier: Apache-2.0
//
// What the layers compute: against PyTorch's results in fixtures/, on every
// device, and against results worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "ferry/error.h"
#include "ferry/io/load.h"
#include "nets.h"

namespace ferry::tests {
namespace {

io::Value fixture(const std::string& name) {
  return load(std::string(NN_FIXTURES) + "/" + name + ".pt", Device());
}

void expect_close(const Tensor& got, const Tensor& expected, const std::string& what) {
  EXPECT_TRUE(allclose(got.cpu(), expected, 1e-5, 1e-5))
      << what << ": " << got << "\nexpected " << expected;
}

/// The module, given PyTorch's state, gives PyTorch's result and prints alike.
template <class M>
void expect_as_pytorch(M module, const std::string& name, bool training = false) {
  const io::Value record = fixture(name);
  EXPECT_EQ(module.str(), record.at("text").as_string());
  const StateDict state = record.at("state");
  EXPECT_EQ(names_of(module.state_dict()), names_of(state));
  module.train(training);
  for (const char* device : {"cpu", "sim:0"}) {
    module.to(device);
    module.load_state_dict(state);
    const Tensor y = module(record.at("x").as_tensor().to(device));
    EXPECT_EQ(y.device(), Device(device));
    expect_close(y, record.at("y"), name + " on " + device);
    if (!training) continue;
    const StateDict after = record.at("after");
    for (const auto& [key, tensor] : module.state_dict()) {
      EXPECT_EQ(tensor.dtype(), after.at(key).dtype());
      expect_close(tensor, after.at(key), key + " after " + name);
    }
  }
}

TEST(Layers, ConvnetIsAsInPyTorch) { expect_as_pytorch(convnet(), "convnet"); }
TEST(Layers, BlocksAreAsInPyTorch) { expect_as_pytorch(Blocks(), "blocks"); }
TEST(Layers, TiedNetIsAsInPyTorch) { expect_as_pytorch(Lm(), "tied"); }
TEST(Layers, LayerNormIsAsInPyTorch) {
  expect_as_pytorch(nn::LayerNorm({5, 2}, {.eps = 1e-3}), "layer_norm");
}
TEST(Layers, ApproximateGeluIsAsInPyTorch) {
  expect_as_pytorch(nn::GELU({.tanh = true}), "gelu_tanh");
}
TEST(Layers, BatchNormTrainsAsInPyTorch) {
  expect_as_pytorch(nn::BatchNorm2d(4), "batch_norm", true);
}
TEST(Layers, BatchNormAveragesAsInPyTorch) {
  expect_as_pytorch(nn::BatchNorm2d(4, {.momentum = {}, .affine = false}), "batch_norm_average",
                    true);
}
TEST(Layers, BatchNormWithoutStatisticsIsAsInPyTorch) {
  expect_as_pytorch(nn::BatchNorm2d(4, {.track_running_stats = false}), "batch_norm_batch");
}

TEST(Layers, LinearByHand) {
  nn::Linear fc(2, 3);
  fc.weight.copy_(tensor<float>({1, 2, 3, 4, 5, 6}).view({3, 2}));
  fc.bias.copy_(tensor<float>({10, 20, 30}));
  EXPECT_EQ(fc(tensor<float>({1, -1})).to_vector<float>(), (std::vector<float>{9, 19, 29}));
  EXPECT_EQ(fc(ones({4, 1, 2})).shape(), (Shape{4, 1, 3}));
}

TEST(Layers, BatchNormByHand) {
  // One channel of 1, 2, 3, 6: mean 3, biased variance 3.5, unbiased 14 / 3.
  nn::BatchNorm2d norm(1, {.eps = 0, .momentum = 0.5});
  const Tensor x = tensor<float>({1, 2, 3, 6}).view({2, 1, 1, 2});
  const float deviation = std::sqrt(3.5f);
  const std::vector<float> y = norm(x).to_vector<float>();
  EXPECT_NEAR(y[0], -2 / deviation, 1e-6);
  EXPECT_NEAR(y[3], 3 / deviation, 1e-6);
  EXPECT_FLOAT_EQ(norm.running_mean.item<float>(), 1.5f);
  EXPECT_FLOAT_EQ(norm.running_var.item<float>(), 0.5f + 14.0f / 6.0f);
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 1);
  norm.eval();
  EXPECT_NEAR(norm(x).to_vector<float>()[0], -0.5f / std::sqrt(0.5f + 14.0f / 6.0f), 1e-6);
  EXPECT_EQ(norm.num_batches_tracked.item<int64_t>(), 1);
}

TEST(Layers, NormsOfHalvesKeepTheirPlaces) {
  // Squares of 1000 do not fit f16; the result does.
  const Tensor x = tensor<float>({-1000, 1000, -1000, 1000}).view({1, 1, 2, 2}).to(kF16);
  nn::BatchNorm2d batch(1);
  nn::LayerNorm layer(2);
  const std::vector<float> expected = {-1, 1, -1, 1};
  EXPECT_EQ(batch(x).to(kF32).to_vector<float>(), expected);
  EXPECT_EQ(layer(x).dtype(), kF16);
  EXPECT_EQ(layer(x).to(kF32).to_vector<float>(), expected);
}

TEST(Layers, NormsSayWhatTheyTake) {
  nn::BatchNorm2d batch(3);
  const nn::LayerNorm layer({2, 3});
  const auto text = [](const auto& module, const Tensor& x) {
    return text_of<InvalidArgument>([&] { (void)module(x); });
  };
  EXPECT_EQ(text(batch, ones({2, 4, 1, 1})),
            "[BatchNorm2d] x must be [N, 3, H, W], not [2, 4, 1, 1]");
  EXPECT_NE(text(batch, ones({1, 3, 1, 1})).find("more than one value a channel"),
            std::string::npos);
  EXPECT_EQ(text(layer, ones({4, 3, 2})),
            "[LayerNorm] x must end in the sizes [2, 3], and is [4, 3, 2]");
  EXPECT_EQ(text(layer, ones({2, 3}, kI64)),
            "[LayerNorm] not defined for int64; convert with to(ferry::kF32)");
}

TEST(Layers, Conv2dChecksItsArguments) {
  EXPECT_EQ(text_of<InvalidArgument>([] { nn::Conv2d(3, 4, 3, {.groups = 2}); }),
            "[Conv2d] 2 groups do not divide channels 3 and 4");
  EXPECT_EQ(text_of<InvalidArgument>([] {
              nn::Conv2d(3, 4, {3, 0});
            }),
            "[Conv2d] channels 3 to 4, kernel (3, 0) and groups 1 must be at least 1");
}

TEST(Init, StartsAgainFromASeed) {
  manual_seed(5);
  const auto first = values_of(Net());
  const auto second = values_of(Net());
  manual_seed(5);
  EXPECT_EQ(values_of(Net()), first);
  EXPECT_NE(second, first);
  manual_seed(6);
  EXPECT_NE(values_of(Net()), first);
}

TEST(Init, LinearIsUniformWithinItsBound) {
  manual_seed(1);
  const nn::Linear fc(400, 500);
  const float bound = 1 / std::sqrt(400.0f);
  for (const Tensor& t : fc.parameters()) {
    EXPECT_LE(amax(abs(t)).item<float>(), bound);
    EXPECT_GT(amax(t).item<float>(), 0.98f * bound);
    EXPECT_LT(amin(t).item<float>(), -0.98f * bound);
  }
  // Of a uniform distribution: mean 0, variance bound^2 / 3, over 200000 values.
  EXPECT_NEAR(mean(fc.weight).item<float>(), 0, 0.01f * bound);
  EXPECT_NEAR(mean(square(fc.weight)).item<float>(), bound * bound / 3, 0.01f * bound * bound);
}

TEST(Init, Conv2dCountsTheInputsOfOneGroup) {
  const nn::Conv2d conv(8, 64, 3, {.groups = 2});
  const float bound = 1 / std::sqrt(4.0f * 9);
  EXPECT_EQ(conv.weight.shape(), (Shape{64, 4, 3, 3}));
  EXPECT_LE(amax(abs(conv.weight)).item<float>(), bound);
  EXPECT_GT(amax(abs(conv.weight)).item<float>(), 0.98f * bound);
}

TEST(Init, EmbeddingIsNormal) {
  manual_seed(2);
  const nn::Embedding table(400, 500);
  EXPECT_NEAR(mean(table.weight).item<float>(), 0, 0.01);
  EXPECT_NEAR(mean(square(table.weight)).item<float>(), 1, 0.02);
  EXPECT_GT(amax(table.weight).item<float>(), 3.5f);
}

}  // namespace
}  // namespace ferry::tests
