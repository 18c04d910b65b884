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
  Tensor thirds = zeros({400, 3}, TensorOptions(kBool, "cpu"));
  thirds.narrow(1, 0, 1).fill_(true);
  thirds = thirds.view({1200});
  const auto most = std::numeric_limits<int64_t>::max();
  const auto range = [](int64_t n) { return arange(0, n, 1, "cpu"); };
  return {
      {"scalar", full({}, 3.5, "cpu")},
      {"scalar_int", full({}, -5, "cpu")},
      {"scalar_bool", full({}, true, "cpu")},
      {"scalar_nan", full({}, nan, "cpu")},
      {"scalar_double", full({}, 0.1, TensorOptions(kF64, "cpu"))},
      {"whole", f32({1, 2, 3})},
      {"fractions", f32({0.5, -1.25, 100.125})},
      {"small", f32({1e-5, 1})},
      {"just_not_small", f32({0.0002, 0.1})},
      {"large", f32({1e9, 2e9})},
      {"just_not_large", f32({1e8, -99999992})},
      {"spread", f32({0.001, 1000.5})},
      {"whole_spread", f32({1, 1001})},
      {"subnormal", f32({1e-42, 0})},
      {"special", f32({1, nan, inf, -inf})},
      {"special_fraction", f32({0.5, nan, -inf})},
      {"special_scientific", f32({1e-7, nan, -inf, 0, -3})},
      {"infinite_only", f32({inf, -inf})},
      {"zeros", zeros({3}, "cpu")},
      {"negative_zero", f32({-0.0, 0})},
      {"negative_zero_fraction", f32({-0.0, 0.5})},
      {"nan_only", f32({nan})},
      {"matrix", range(6).view({2, 3}).to(kF32) - 2.5},
      {"transposed", range(6).view({2, 3}).t()},
      {"cube", range(24).view({2, 3, 4})},
      {"four", range(16).view({2, 2, 2, 2})},
      {"ones_of_five", ones({1, 1, 2, 1, 1}, "cpu")},
      {"ints", tensor<int64_t>({-1, 10, 100})},
      {"big_ints", tensor<int64_t>({most, -most - 1})},
      {"int8", tensor<int8_t>({-128, 127, 0, 5}).view({2, 2})},
      {"int16", tensor<int16_t>({-32768})},
      {"int32", tensor<int32_t>({1, 2})},
      {"uint8", tensor<uint8_t>({1, 255})},
      {"bools", tensor<bool>({true, false})},
      {"bool_matrix", tensor<bool>({true, true, false, true}).view({2, 2})},
      {"double", tensor<double>({1.5, 2.5})},
      {"half", f32({1.5, 2.25}).to(kF16)},
      {"half_large", f32({65504, 0.1}).to(kF16)},
      {"bfloat16", f32({1.5, 2.25}).to(kBF16)},
      {"empty", zeros({0}, "cpu")},
      {"empty_matrix", zeros({0, 3}, "cpu")},
      {"empty_int", zeros({0}, TensorOptions(kI64, "cpu"))},
      {"empty_double_cube", zeros({2, 0, 4}, TensorOptions(kF64, "cpu"))},
      {"row", range(40).to(kF32)},
      {"long_ints", range(30) * 100000},
      {"column", range(8).view({8, 1})},
      {"thousand", range(1000)},
      {"over_thousand", range(1001).to(kF32) / 10},
      {"long", range(2000)},
      {"wide", range(4000).view({40, 100})},
      {"tall", range(3000).view({1000, 3}).to(kF32) / 7},
      {"tall_double", range(3000).view({1000, 3}).to(kF64) / 7},
      {"deep", range(2400).view({10, 12, 20})},
      {"long_bools", thirds},
      {"long_double", range(30).to(kF64) / 3},
      {"suffix_at_the_edge", range(8).to(kF64) * 1.5},
      {"suffix_over_the_edge", range(9).to(kF64) * 1.5},
  };
}

TEST(PrintingOnCpu, AsPyTorch) {
  auto expected = fixtures();
  EXPECT_EQ(expected.size(), cases().size());
  for (const auto& [name, tensor] : cases()) {
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_EQ(tensor.str(), expected.at(name)) << name;
  }
}

TEST_P(Printing, TheSameElementsFromEveryDevice) {
  for (const auto& [name, tensor] : cases()) {
    const std::string there = tensor.to(device()).str();
    const std::string here = tensor.str();
    // The device comes behind the last bracket; a scalar has none.
    const size_t last = tensor.dim() == 0 ? here.find_first_of(",)") : here.rfind(']') + 1;
    EXPECT_EQ(there.substr(0, last), here.substr(0, last)) << name;
    const bool named = there.find("device='" + GetParam() + "'") != std::string::npos;
    EXPECT_EQ(named, !device().is_cpu()) << name;
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
