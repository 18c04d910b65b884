// SPDX-License-Identifier: Apache-2.0
//
// The cases of Module::to(): identity, absent and forgotten tensors, files with
// what Ferry lacks; its progress, and that it is all or nothing.
#include <cstdint>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.h"
#include "ferry/io/load.h"
#include "ferry/memory.h"
#include "ferry/nn.h"
#include "ferry/stream.h"

namespace ferry::test {
namespace {

class WithBuffer : public nn::Module {
 public:
  nn::Linear fc{2, 2};
  nn::Buffer b{ones({3})};
  FERRY_MODULE(fc, b)
  Tensor forward(const Tensor& x) const { return x; }
};

TEST_P(Cases, TO14_ParametersAndBuffersKeepTheirIdentity) {
  WithBuffer module;
  const Tensor parameter = module.fc.weight;
  const std::vector<Tensor> list = {module.b};
  const std::map<std::string, Tensor> table = {{"b", module.b}};
  module.to(device(), kF64);
  EXPECT_TRUE(module.fc.weight.is_same(parameter));
  EXPECT_TRUE(module.b.is_same(list[0]));
  for (const Tensor& held : {parameter, list[0], table.at("b")}) {
    EXPECT_EQ(held.device(), device());
    EXPECT_EQ(held.dtype(), kF64);
  }
  EXPECT_EQ(list[0].to_vector<double>(), std::vector<double>(3, 1));
}

class Forgetful : public nn::Module {
 public:
  Tensor plain{ones({3})};
  std::vector<nn::Linear> list{nn::Linear(3, 3)};
  nn::Buffer registered{ones({3})};
  FERRY_MODULE(registered)
  Tensor forward(const Tensor& x) const { return x; }
};

TEST_P(Cases, TO17_WhatIsNotNamedStaysAndTheErrorTellsWhich) {
  Forgetful module;
  const Device home = module.plain.device();
  module.to(device());
  EXPECT_EQ(module.registered.device(), device());
  if (device() == home) return;
  EXPECT_EQ(module.plain.device(), home);
  const Tensor x = ones({2, 3}, TensorOptions(device()));
  const std::string add = error_of([&] { (void)(x + module.plain); });
  for (const char* part : {"[add]", GetParam().c_str(), "cpu", "[2, 3]", "[3]"}) {
    EXPECT_TRUE(has(add, part)) << part << " in " << add;
  }
  const std::string call = error_of([&] { (void)module.list[0](x); });
  EXPECT_TRUE(has(call, GetParam()) && has(call, "cpu")) << call;
}

/// A safetensors file with one tensor of `dtype`.
void write_file(const std::string& path, const std::string& dtype, size_t bytes) {
  const std::string header = R"({"x":{"dtype":")" + dtype + R"(","shape":[1],"data_offsets":[0,)" +
                             std::to_string(bytes) + "]}}";
  const uint64_t size = header.size();
  std::ofstream out(path, std::ios::binary);
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(size >> (8 * i)));
  out << header << std::string(bytes, '\0');
}

TEST(Alone, TO19_ComplexValuesAreRefusedByName) {
  const ScratchFile file(".safetensors");
  write_file(file.path(), "C64", 8);
  EXPECT_TRUE(has(error_of<FileError>([&] { (void)load(file.path()); }), "C64"));
  write_file(file.path(), "F64", 8);
  EXPECT_EQ(Tensor(load(file.path()).at("x")).item<double>(), 0);
}

TEST_P(Cases, TO20_LayersWithoutTheirOptionalTensors) {
  nn::Linear layer(3, 4, {.bias = false});
  EXPECT_EQ(layer.state_dict().size(), 1u);
  layer.to(device());
  const Tensor x = ones({2, 3}, TensorOptions(device()));
  const auto expected = layer(x).to_vector<float>();
  nn::Linear copy = nn::clone(layer);
  EXPECT_EQ(copy(x).to_vector<float>(), expected);
  const ScratchFile file(".safetensors");
  save(layer.state_dict(), file.path());
  copy.weight.zero_();
  copy.load_state_dict(load(file.path()));
  EXPECT_EQ(copy(x).to_vector<float>(), expected);
  nn::Sequential others(nn::LayerNorm(4, {.elementwise_affine = false}),
                        nn::Conv2d(1, 2, 2, {.bias = false}),
                        nn::BatchNorm2d(2, {.affine = false}));
  others.to(device()).to(kF64).to(Device());
}

class Big : public nn::Module {
 public:
  nn::Parameter a{full({1 << 18}, 1.0)};
  nn::Parameter b{full({1 << 17}, 2.0)};
  nn::Parameter tied{a};
  nn::Buffer c{full({1 << 16}, 3.0)};
  FERRY_MODULE(a, b, tied, c)
  Tensor forward(const Tensor& x) const { return x; }
};

TEST_P(Cases, TO_ProgressOfAMoveRisesToTheWhole) {
  Big module;
  std::vector<nn::MoveProgress> seen;
  module.to(device(), {.progress = [&](const nn::MoveProgress& p) { seen.push_back(p); }});
  constexpr uint64_t kItem = 4;
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].name, "a");
  EXPECT_EQ(seen[0].done, kItem << 18);
  EXPECT_EQ(seen[1].name, "b");
  EXPECT_EQ(seen[2].name, "c");
  EXPECT_EQ(seen[2].done, seen[2].total);
  EXPECT_EQ(seen[2].total, (kItem << 18) + (kItem << 17) + (kItem << 16));
  EXPECT_EQ(sum(module.a).item<float>(), 1 << 18);
  EXPECT_EQ(sum(module.b).item<float>(), 2 << 17);
  EXPECT_TRUE(module.tied.is_same(module.a));
}

TEST_P(Cases, TO_WhatTheProgressThrowsLeavesTheModuleAsItWas) {
  Big module;
  const Device home = module.a.device();
  const uint64_t before = memory_allocated(device());
  const auto stop = [](const nn::MoveProgress& p) {
    if (p.name == "b") throw std::runtime_error("enough");
  };
  EXPECT_THROW(module.to(device(), kF64, {.progress = stop}), std::runtime_error);
  for (const Tensor& t : module.parameters()) {
    EXPECT_EQ(t.device(), home);
    EXPECT_EQ(t.dtype(), kF32);
  }
  EXPECT_EQ(memory_allocated(device()), before);
  EXPECT_EQ(sum(module.a).item<float>(), 1 << 18);
}

TEST_P(Cases, TO_AMoveOverlapsWithOtherStreamsAndIsDoneOnReturn) {
  if (device().is_cpu()) GTEST_SKIP() << "the CPU has no streams";
  const Stream side(device());
  const StreamGuard guard(side);
  for (int i = 0; i < 5; ++i) {
    Big module;
    const Tensor busy = exp(zeros({1 << 16}, TensorOptions(device())));
    module.to(device());
    // Reads on another stream, without waiting for anything.
    const StreamGuard back(Stream::default_of(device()));
    EXPECT_EQ(sum(module.b).item<float>(), 2 << 17);
    module.to(Device());
    EXPECT_EQ(module.b.data_ptr<float>()[(1 << 17) - 1], 2);
    EXPECT_EQ(sum(busy).item<float>(), 1 << 16);
  }
}

TEST(Alone, TO_AFailedCopyLeavesTheModuleAsItWas) {
  Big module;
  const std::vector<Tensor> parameters = module.parameters();
  int failures = 0;
  for (int i = 0; i < 20; ++i) {
    const Device before = parameters[0].device();
    const Device target = before.is_cpu() ? Device("sim:0") : Device();
    try {
      module.to(target);
      for (const Tensor& t : parameters) EXPECT_EQ(t.device(), target);
    } catch (const DeviceError&) {
      ++failures;
      for (const Tensor& t : parameters) EXPECT_EQ(t.device(), before);
    }
    if (!module.a.device().is_cpu()) continue;
    EXPECT_EQ(module.a.to_vector<float>(), std::vector<float>(1 << 18, 1));
    EXPECT_EQ(module.b.to_vector<float>(), std::vector<float>(1 << 17, 2));
  }
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 20);
}

TEST(Alone, TO_WithoutRoomTheModuleIsAsItWas) {
  Big module;
  const Tensor rest = empty({2 << 20}, TensorOptions(kU8, "sim:0"));
  try {
    module.to("sim:0");
    ADD_FAILURE() << "1.75 MiB in one";
  } catch (const OutOfMemoryError& e) {
    EXPECT_TRUE(has(e.what(), "(moving 'b' [131072]; the module is unchanged)")) << e.what();
  }
  EXPECT_EQ(module.a.device(), Device());
  EXPECT_EQ(module.b.to_vector<float>(), std::vector<float>(1 << 17, 2));
  EXPECT_EQ(memory_allocated("sim:0"), 2u << 20);
}

}  // namespace
}  // namespace ferry::test
