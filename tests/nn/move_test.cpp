// SPDX-License-Identifier: Apache-2.0
//
// Module::to(): handles, ties, buffers and dtypes.
#include <gtest/gtest.h>

#include "ferry/error.h"
#include "nets.h"

namespace ferry::tests {
namespace {

TEST(Move, ReachesParametersAndBuffers) {
  Blocks blocks;
  const Tensor x = tensor<float>({1, -2, 3}).view({1, 3});
  const Tensor before = blocks(x);
  blocks.to("sim:1");
  for (const auto& [name, tensor] : blocks.state_dict()) {
    EXPECT_EQ(tensor.device().str(), "sim:1") << name;
  }
  EXPECT_TRUE(allclose(blocks(x.to("sim:1")).cpu(), before, 1e-5, 1e-6));
}

TEST(Move, HandlesHeldElsewhereSeeIt) {
  Blocks blocks;
  const Tensor parameter = blocks.stem.weight;
  const std::vector<Tensor> held = {blocks.shift_};
  blocks.to("sim:0", kF64);
  EXPECT_TRUE(blocks.stem.weight.is_same(parameter));
  EXPECT_TRUE(blocks.shift_.is_same(held[0]));
  EXPECT_EQ(parameter.device().str(), "sim:0");
  EXPECT_EQ(held[0].device().str(), "sim:0");
  EXPECT_EQ(parameter.dtype(), kF64);
  EXPECT_EQ(held[0].dtype(), kF64);
}

TEST(Move, CopiesOfTheModuleMoveWithIt) {
  Net one;
  const Net two = one;
  one.to("sim:0");
  EXPECT_EQ(two.fc1.weight.device().str(), "sim:0");
}

TEST(Move, TiedTensorsStayOneTensor) {
  Lm lm;
  const auto before = values_of(lm);
  lm.to("sim:0").to(kF64).to("sim:1").to(Device(), kF32);
  EXPECT_TRUE(lm.head.weight.is_same(lm.embedding.weight));
  EXPECT_EQ(values_of(lm), before);
}

/// Two parameters and a buffer in one storage, and an equal view of the first.
class Packed : public nn::Module {
 public:
  Tensor all{arange(0, 20).to(kF32)};
  nn::Parameter q{all.slice(0, 4, 10).view({2, 3})};
  nn::Parameter k{all.slice(0, 10, 16).view({3, 2}).t()};
  nn::Parameter q_again{all.slice(0, 4, 10).view({2, 3})};
  nn::Buffer nothing{all.slice(0, 2, 2)};
  FERRY_MODULE(q, k, q_again, nothing)
  Tensor forward(const Tensor& x) const { return x; }
};

void expect_packed(const Packed& packed) {
  EXPECT_EQ(packed.q.to(kF32).to_vector<float>(), (std::vector<float>{4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(packed.k.to(kF32).to_vector<float>(), (std::vector<float>{10, 12, 14, 11, 13, 15}));
  EXPECT_EQ(packed.k.strides(), (Shape{1, 2}));
  EXPECT_TRUE(packed.q.shares_storage(packed.k));
  EXPECT_TRUE(packed.q.shares_storage(packed.q_again));
  packed.q_again.fill_(-1);
  EXPECT_EQ(packed.q.to(kF32).to_vector<float>(), std::vector<float>(6, -1));
  EXPECT_EQ(packed.k.to(kF32).to_vector<float>(), (std::vector<float>{10, 12, 14, 11, 13, 15}));
}

TEST(Move, ViewsOfOneStorageShareOneAgain) {
  Packed packed;
  packed.to("sim:0", kF64);
  EXPECT_EQ(packed.q.device().str(), "sim:0");
  expect_packed(packed);
  EXPECT_EQ(packed.all.device(), Device());  // not registered
}

TEST(Move, ClonesOfViewsShareOneStorageToo) {
  const Packed packed;
  const Packed copy = nn::clone(packed);
  EXPECT_FALSE(copy.q.shares_storage(packed.q));
  expect_packed(copy);
  EXPECT_EQ(packed.q.to_vector<float>()[0], 4.0f);
}

TEST(Move, IntegersKeepTheirDtype) {
  nn::BatchNorm2d norm(2);
  norm.to("sim:0", kF16);
  EXPECT_EQ(norm.weight.dtype(), kF16);
  EXPECT_EQ(norm.running_var.dtype(), kF16);
  EXPECT_EQ(norm.num_batches_tracked.dtype(), kI64);
  EXPECT_EQ(norm.num_batches_tracked.device().str(), "sim:0");
}

TEST(Move, RefusesDtypesThatAreNotFloating) {
  Net net;
  EXPECT_EQ(text_of<InvalidArgument>([&] { net.to("sim:0", kI32); }),
            "[Module::to] a module is converted to floating dtypes only, not int32");
  EXPECT_EQ(net.fc1.weight.device(), Device());
}

TEST(Move, LeavesWhatIsThereAlready) {
  Net net;
  const float* data = net.fc1.weight.data_ptr<float>();
  net.to(Device()).to(kF32);
  EXPECT_EQ(net.fc1.weight.data_ptr<float>(), data);
}

TEST(Move, GoesWithoutAbsentTensors) {
  nn::Sequential net(nn::Linear(3, 4, {.bias = false}), nn::LayerNorm(4, {.bias = false}),
                     nn::LayerNorm(4, {.elementwise_affine = false}));
  const Tensor x = tensor<float>({1, 2, 4});
  const Tensor before = net(x);
  net.to("sim:0");
  EXPECT_TRUE(allclose(net(x.to("sim:0")).cpu(), before, 1e-5, 1e-6));
  nn::BatchNorm2d norm(2, {.affine = false, .track_running_stats = false});
  norm.to("sim:0", kF64);
  const Tensor same = ones({2, 2, 2, 2}).to("sim:0", kF64);
  EXPECT_TRUE(equal(norm(same), zeros_like(same)));
}

class Forgetful : public nn::Module {
 public:
  Tensor forgotten{ones({3})};
  nn::Linear fc{3, 3};
  FERRY_MODULE(fc)
  Tensor forward(const Tensor& x) const { return fc(x) + forgotten; }
};

TEST(Move, TensorsThatWereNotNamedAreNamedByTheOperation) {
  Forgetful net;
  net.to("sim:0");
  const std::string text = text_of<InvalidArgument>([&] { (void)net(ones({2, 3}).to("sim:0")); });
  for (const char* part : {"[add]", "sim:0", "cpu", "[2, 3]", "[3]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

}  // namespace
}  // namespace ferry::tests
