// SPDX-License-Identifier: Apache-2.0
//
// Files of save_torch(). Those under fixtures/written are what PyTorch was seen
// to open with these contents (check_written.py); here the same bytes come out.
#include <cmath>
#include <csignal>
#include <cstdlib>

#include <sys/resource.h>

#include "ferry/error.h"
#include "ferry/io/load.h"
#include "ferry/log.h"
#include "support.h"

namespace ferry::test {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;
using io::Value;

/// With FERRY_WRITE_FIXTURES set, writes the expectations instead.
void expect_bytes(const std::string& path, const std::string& name) {
  const std::string expected = fixture("written/" + name);
  if (std::getenv("FERRY_WRITE_FIXTURES") != nullptr) write_file(expected, read_file(path));
  EXPECT_TRUE(read_file(path) == read_file(expected)) << name;
}

StateDict every_dtype() {
  StateDict state;
  for (const DType dtype : {kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64}) {
    state.set(std::string(name(dtype)), tensor<float>({0, 1, 2}).to(dtype));
  }
  state.set("scalar", full({}, 2.5));
  state.set("empty", zeros({0, 3}));
  state.set("nan", tensor<double>({NAN, -0.0, INFINITY}));
  state.set("four", arange(0, 24).to(kI32).view({2, 3, 2, 2}));
  return state;
}

class TorchWriter : public FileTest {
 protected:
  std::string listing() const {
    std::string text;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      text += entry.path().filename().string() + " ";
    }
    return text;
  }
};

TEST_F(TorchWriter, EveryDTypeScalarsAndEmptyTensors) {
  const StateDict state = every_dtype();
  save_torch(state, path("dtypes.pt"));
  expect_bytes(path("dtypes.pt"), "dtypes.pt");
  const StateDict back = load(path("dtypes.pt"));
  ASSERT_EQ(back.size(), state.size());
  for (const auto& [name, tensor] : state) {
    const Tensor& loaded = back.at(name);
    EXPECT_EQ(loaded.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(loaded.shape(), tensor.shape()) << name;
    std::vector<std::byte> a(tensor.nbytes()), b(tensor.nbytes());
    tensor.copy_to_host(a.data(), tensor.dtype());
    loaded.copy_to_host(b.data(), loaded.dtype());
    EXPECT_EQ(a, b) << name;
  }
}

Value nested() {
  const Tensor w = tensor<float>({1, 2});
  const StateDict model{{"w", w}, {"b", tensor<float>({3})}};
  return Value::dict({
      {Value::of("model"), Value::of(model)},
      {Value::of("optimizer"),
       Value::dict({{Value::of("state"),
                     Value::dict({{Value::of(int64_t{0}),
                                   Value::dict({{Value::of("momentum"), Value::of(w)}})}})}})},
      {Value::of("epoch"), Value::of(int64_t{3})},
      {Value::of("ints"),
       Value::list({Value::of(int64_t{0}), Value::of(int64_t{255}), Value::of(int64_t{256}),
                    Value::of(int64_t{65536}), Value::of(int64_t{-1}), Value::of(INT64_MIN),
                    Value::of(INT64_MAX)})},
      {Value::of("numbers"), Value::tuple({Value::of(0.1), Value::of(-INFINITY), Value::of(true),
                                           Value::of(false), Value()})},
      {Value::of("note"), Value::of("für später ✓\n")},
      {Value::of("nothing"), Value::tuple({Value::list({}), Value::tuple({}), Value::dict({})})},
      {Value::of(int64_t{-7}), Value::of("")},
  });
}

TEST_F(TorchWriter, NestedContainersNumbersAndTexts) {
  save_torch(nested(), path("nested.pt"));
  expect_bytes(path("nested.pt"), "nested.pt");
  const Value back = load(path("nested.pt"));
  EXPECT_EQ(back.str(), nested().str());
  EXPECT_EQ(back.at("numbers").at(0).as_double(), 0.1);
  EXPECT_TRUE(back.at("model").at("w").as_tensor().is_same(
      back.at("optimizer").at("state").at(0).at("momentum")));
}

TEST_F(TorchWriter, ViewsTiesAndStridesAreKept) {
  const Tensor n = arange(1, 10);
  const Tensor grid = arange(0, 12).to(kF32).view({3, 4});
  const StateDict state{{"n", n},
                        {"every_second", n.slice(0, 1, 9, 2)},
                        {"again", n},
                        {"grid", grid},
                        {"turned", grid.t()},
                        {"column", grid.select(1, 2)},
                        {"wide", grid.select(0, 1).expand({5, 4})}};
  save_torch(state, path("views.pt"));
  expect_bytes(path("views.pt"), "views.pt");
  const StateDict back = load(path("views.pt"));
  EXPECT_TRUE(back.at("n").is_same(back.at("again")));
  EXPECT_TRUE(back.at("n").shares_storage(back.at("every_second")));
  EXPECT_FALSE(back.at("n").shares_storage(back.at("grid")));
  for (const auto& [name, tensor] : state) {
    EXPECT_EQ(back.at(name).strides(), tensor.strides()) << name;
    EXPECT_EQ(back.at(name).storage_offset(), tensor.storage_offset()) << name;
    EXPECT_EQ(back.at(name).shape(), tensor.shape()) << name;
  }
  back.at("every_second").data_ptr<int64_t>()[2] *= 2;
  EXPECT_EQ(back.at("n").to_vector<int64_t>(), (Longs{1, 2, 3, 8, 5, 6, 7, 8, 9}));
}

// CK-04: a slice keeps its base unless the writer is asked for less.
TEST_F(TorchWriter, CK04ASliceOfALargeTensorWarnsAndCompactMakesItSmall) {
  std::string warnings;
  set_log_callback([&](LogLevel, std::string_view, std::string_view text) { warnings += text; },
                   LogLevel::kWarn);
  const Tensor base = arange(0, 100000).to(kF32);
  const Tensor head = base.narrow(0, 50, 10);
  save_torch({{"head", head}}, path("slice.pt"));
  EXPECT_NEAR(double(std::filesystem::file_size(path("slice.pt"))), 400000, 2000);
  EXPECT_NE(warnings.find("400000 bytes"), std::string::npos) << warnings;
  warnings.clear();
  save_torch({{"head", head.clone()}}, path("clone.pt"));
  save_torch({{"head", head}, {"part", base.slice(0, 52, 60, 2)}}, path("compact.pt"),
             {.compact = true});
  set_log_callback({});
  EXPECT_EQ(warnings, "");
  EXPECT_LT(std::filesystem::file_size(path("clone.pt")), 1500u);
  EXPECT_LT(std::filesystem::file_size(path("compact.pt")), 1500u);
  expect_bytes(path("compact.pt"), "compact.pt");
  const StateDict back = load(path("compact.pt"));
  EXPECT_TRUE(back.at("head").shares_storage(back.at("part")));
  EXPECT_EQ(back.at("part").to_vector<float>(), (Floats{52, 54, 56, 58}));
  EXPECT_EQ(back.at("head").to_vector<float>()[9], 59.0f);
}

TEST_F(TorchWriter, FromADeviceWithItsNameOrAnother) {
  const Device device("acme:1");
  const StateDict state{{"w", tensor<float>({1, 2, 3}, device)}};
  save_torch(state, path("own.pt"));
  const Tensor w = load(path("own.pt")).at("w");
  EXPECT_EQ(w.device(), device);
  EXPECT_EQ(w.to_vector<float>(), (Floats{1, 2, 3}));
  save_torch(state, path("cpu.pt"), {.compact = false, .location = "cpu"});
  EXPECT_TRUE(load(path("cpu.pt")).at("w").as_tensor().device().is_cpu());
}

TEST_F(TorchWriter, ContentsAreAlignedAndTheNameChoosesTheForm) {
  save({{"w", tensor<float>({1.5f})}, {"ünï/../x y", tensor<float>({2.5f})}}, path("x.pth"));
  const std::string bytes = read_file(path("x.pth"));
  EXPECT_TRUE(bytes.starts_with("PK"));
  for (const float value : {1.5f, 2.5f}) {
    const std::string_view raw(reinterpret_cast<const char*>(&value), sizeof value);
    EXPECT_EQ(bytes.find(raw) % 64, 0u);
  }
  EXPECT_EQ(load(path("x.pth")).at("ünï/../x y").as_tensor().item<float>(), 2.5f);
  save({{"w", tensor<float>({1})}}, path("x.safetensors"));
  EXPECT_FALSE(read_file(path("x.safetensors")).starts_with("PK"));
}

TEST_F(TorchWriter, WhatCannotBeWrittenIsNamedAndNothingIsLeft) {
  const Value undefined =
      Value::dict({{Value::of("a"), Value::list({Value(), Value::of(Tensor())})}});
  EXPECT_REFUSED(InvalidArgument, save_torch(undefined, path("x")), "['a'][1]", "undefined");
  EXPECT_REFUSED(InvalidArgument, save_torch(Value::of("\xff"), path("x")), "UTF-8");
  Value deep;
  for (int i = 0; i < 202; ++i) deep = Value::list({deep});
  EXPECT_REFUSED(InvalidArgument, save_torch(deep, path("x")), "200 levels");
  EXPECT_EQ(listing(), "");
}

TEST_F(TorchWriter, AFailedWriteLeavesTheOldFileAndNothingElse) {
  save_torch({{"w", tensor<float>({1})}}, path("x.pt"));
  const StateDict large{{"w", tensor(Floats(1000000, 2.0f), {1000000})}};
  // The kernel's own limit stands for a full disk.
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{4096, old.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_REFUSED(FileError, save_torch(large, path("x.pt")), "x.pt", "too large");
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(listing(), "x.pt ");
  EXPECT_EQ(load(path("x.pt")).at("w").as_tensor().item<float>(), 1);
  EXPECT_REFUSED(FileError, save_torch(large, path("absent/x")), "absent/x", "No such file");
}

}  // namespace
}  // namespace ferry::test
