// SPDX-License-Identifier: Apache-2.0
//
// Tensors are printed as PyTorch prints them, with Ferry's names for dtypes.
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "common.h"

namespace ferry::test {
namespace {

class Printing : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Printing);

/// The texts of print_fixtures.txt, by name.
std::map<std::string, std::string> fixtures() {
  std::ifstream in(PRINT_FIXTURES);
  std::map<std::string, std::string> out;
  std::string name;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      name = line.substr(3);
    } else if (!name.empty()) {
      out[name] += (out[name].empty() ? "" : "\n") + line;
    }
  }
  return out;
}

std::vector<std::pair<std::string, Tensor>> cases() {
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  const auto f32 = [](std::vector<double> values) {
    const auto n = static_cast<int64_t>(values.size());
    return tensor(values, {n}).to(kF32);
  };
  return {
      {"scalar", full({}, 3.5, "cpu")},
      {"whole", f32({1, 2, 3})},
      {"fractions", f32({0.5, -1.25, 100.125})},
      {"small", f32({1e-5, 1})},
      {"large", f32({1e9, 2e9})},
      {"spread", f32({0.001, 1000.5})},
      {"special", f32({1, nan, inf, -inf})},
      {"special_fraction", f32({0.5, nan, -inf})},
      {"zeros", zeros({3}, "cpu")},
      {"nan_only", f32({nan})},
      {"matrix", arange(0, 6, 1, "cpu").view({2, 3}).to(kF32) - 2.5},
      {"cube", arange(0, 24, 1, "cpu").view({2, 3, 4})},
      {"four", arange(0, 16, 1, "cpu").view({2, 2, 2, 2})},
      {"ints", tensor<int64_t>({-1, 10, 100})},
      {"int32", tensor<int32_t>({1, 2})},
      {"uint8", tensor<uint8_t>({1, 255})},
      {"bools", tensor<bool>({true, false})},
      {"double", tensor<double>({1.5, 2.5})},
      {"half", f32({1.5, 2.25}).to(kF16)},
      {"bfloat16", f32({1.5, 2.25}).to(kBF16)},
      {"empty", zeros({0}, "cpu")},
      {"empty_matrix", zeros({0, 3}, "cpu")},
      {"empty_int", zeros({0}, TensorOptions(kI64, "cpu"))},
      {"row", arange(0, 40, 1, "cpu").to(kF32)},
      {"long", arange(0, 2000, 1, "cpu")},
      {"wide", arange(0, 4000, 1, "cpu").view({40, 100})},
      {"tall", arange(0, 3000, 1, "cpu").view({1000, 3}).to(kF32) / 7},
      {"deep", arange(0, 2400, 1, "cpu").view({10, 12, 20})},
      {"long_double", arange(0, 30, 1, "cpu").to(kF64) / 3},
  };
}

TEST(PrintingOnCpu, AsPyTorch) {
  const auto expected = fixtures();
  for (const auto& [name, tensor] : cases()) {
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_EQ(tensor.str(), expected.at(name)) << name;
  }
}

TEST_P(Printing, NamesTheDevice) {
  const Tensor x = tensor<double>({1.5, 2}).to(device());
  std::ostringstream out;
  out << x;
  const std::string on = device().is_cpu() ? "" : ", device='" + GetParam() + "'";
  EXPECT_EQ(out.str(), "tensor([1.5000, 2.0000]" + on + ", dtype=float64)");
  EXPECT_EQ(arange(0, 2000, 1, TensorOptions(device())).view({50, 40}).t().str().substr(0, 60),
            arange(0, 2000, 1, "cpu").view({50, 40}).t().str().substr(0, 60));
}

TEST(PrintingOnCpu, UndefinedTensorsToo) { EXPECT_EQ(Tensor().str(), "tensor(undefined)"); }

}  // namespace
}  // namespace ferry::test
