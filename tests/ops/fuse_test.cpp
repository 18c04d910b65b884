// SPDX-License-Identifier: Apache-2.0
//
// Fused functions against the same operations one by one.
#include "ferry/fuse.h"

#include <random>
#include <string>
#include <vector>

#include "common.h"

namespace ferry::test {
namespace {

class Fusion : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Fusion);

TEST_P(Fusion, AFunctionIsOneProgram) {
  // Step by step, for C++ leaves the order of operands open.
  const auto gate = fuse<2>([](auto x, auto y) {
    const auto product = x * y;
    const auto first = relu(product + 1);
    const auto second = sigmoid(x);
    const auto half = second / 2;
    return first - half;
  });
  const Tensor a = make(random_array({5, 7}, 3, 1), kF32);
  const Tensor b = make(random_array({5, 7}, 3, 2), kF32);
  EXPECT_TRUE(allclose(gate(a, b), relu(a * b + 1) - sigmoid(a) / 2, 1e-6, 1e-6));
  EXPECT_EQ(gate.text(a, b),
            "map in float32\n"
            "  %0 = input : float32\n"
            "  %1 = input : float32\n"
            "  %2 = 1\n"
            "  %3 = 2\n"
            "  %4 = mul %0 %1\n"
            "  %5 = add %4 %2\n"
            "  %6 = relu %5\n"
            "  %7 = sigmoid %0\n"
            "  %8 = div %7 %3\n"
            "  %9 = sub %6 %8\n"
            "  output %9 : float32\n");
}

TEST_P(Fusion, EqualStepsAreTakenOnceAndUnusedOnesLeftOut) {
  const auto f = fuse<1>([](auto x) {
    (void)exp(x);
    return (x + 1) * (x + 1);
  });
  const std::string text = f.text(ones({2}, TensorOptions(device())));
  EXPECT_EQ(text.find("exp"), std::string::npos) << text;
  EXPECT_EQ(text.find("add"), text.rfind("add")) << text;
}

TEST_P(Fusion, BroadcastsViewsAndNumbers) {
  const auto f = fuse<3>([](auto x, auto y, auto z) { return x * y + z; });
  const Tensor a = make(random_array({4, 3, 5}, 3, 1), kF32);
  const Tensor row = make(random_array({5}, 3, 2), kF32);
  const Tensor turned = make(random_array({3, 4}, 3, 3), kF32).t().unsqueeze(2);
  EXPECT_TRUE(allclose(f(a, row, turned), a * row + turned, 1e-6, 1e-6));
  const Tensor number = full({}, 2.5, TensorOptions());  // on the CPU
  EXPECT_TRUE(allclose(f(a, number, row), a * 2.5 + row, 1e-6, 1e-6));
}

TEST_P(Fusion, DtypesFollowTheRulesOfSingleOperations) {
  const auto f = fuse<2>([](auto x, auto y) { return where(x > y, x, y) * 2; });
  for (const DType left : {kU8, kI32, kI64, kF16, kBF16, kF32, kF64}) {
    for (const DType right : {kU8, kI32, kI64, kF16, kBF16, kF32, kF64}) {
      const Tensor a = tensor<float>({1, 5, 3, 2}, device()).to(left);
      const Tensor b = tensor<float>({4, 2, 3, 7}, device()).to(right);
      const Tensor wanted = where(a > b, a, b) * 2;
      const Tensor got = f(a, b);
      EXPECT_EQ(got.dtype(), wanted.dtype()) << name(left) << " with " << name(right);
      EXPECT_TRUE(equal(got, wanted)) << name(left) << " with " << name(right);
    }
  }
}

TEST_P(Fusion, ConversionsInsideAndAtTheEnd) {
  const Tensor a = tensor<float>({1.75f, -2.5f, 300.0f}, device());
  const auto rounds = fuse<1>([](auto x) { return (x * 2).to(kI32); });
  EXPECT_EQ(rounds(a).template to_vector<int32_t>(), (std::vector<int32_t>{3, -5, 600}));
  const auto widens = fuse<1>([](auto x) { return x.to(kF64) / 3; });
  EXPECT_EQ(widens(a).dtype(), kF64);
  EXPECT_TRUE(allclose(widens(a), a.to(kF64) / 3, 1e-15, 0));
  const auto halves = fuse<1>([](auto x) { return x.to(kBF16); });
  EXPECT_TRUE(equal(halves(a), a.to(kBF16)));
  const auto truth = fuse<1>([](auto x) { return where(x.to(kBool), x, x + 1); });
  EXPECT_TRUE(equal(truth(a), a));
  const auto further = fuse<1>([](auto x) { return x.to(kI32) + 1; });
  EXPECT_NE(error_of([&] { (void)further(a); }).find("goes no further"), std::string::npos);
}

TEST_P(Fusion, SeveralResults) {
  const auto both = fuse<2>([](auto x, auto y) { return std::array{x + y, (x < y).to(kF32)}; });
  const Tensor a = tensor<float>({1, 4}, device());
  const Tensor b = tensor<float>({3, 2}, device());
  const std::array<Tensor, 2> got = both(a, b);
  EXPECT_TRUE(equal(got[0], a + b));
  EXPECT_EQ(got[1].to_vector<float>(), (std::vector<float>{1, 0}));
}

TEST_P(Fusion, ReductionsOfAProgram) {
  const auto dot = fuse<2>([](auto x, auto y) { return sum(x * y, {1}); });
  const Tensor a = make(random_array({6, 33}, 3, 1), kF32);
  const Tensor b = make(random_array({6, 33}, 3, 2), kF32);
  EXPECT_TRUE(allclose(dot(a, b), sum(a * b, {1}), 1e-5, 1e-5));
  const auto largest = fuse<1>([](auto x) { return amax(abs(x), {0}, true); });
  EXPECT_TRUE(equal(largest(a), amax(abs(a), {0}, true)));
  const auto some = fuse<1>([](auto x) { return any(x > 2.9); });
  EXPECT_EQ(some(a).template item<bool>(), any(a > 2.9).item<bool>());
  const auto count = fuse<1>([](auto x) { return sum(x > 0); });
  EXPECT_EQ(count(a).dtype(), kI64);
  EXPECT_TRUE(equal(count(a), sum(a > 0)));
  EXPECT_EQ(dot(zeros({3, 0}, TensorOptions(device())), zeros({0}, TensorOptions(device())))
                .template to_vector<float>(),
            (std::vector<float>{0, 0, 0}));
}

TEST_P(Fusion, EmptyAndZeroDimensional) {
  const auto f = fuse<1>([](auto x) { return x * x + 1; });
  EXPECT_EQ(f(zeros({0, 3}, TensorOptions(device()))).shape(), (Shape{0, 3}));
  EXPECT_EQ(f(full({}, 3, TensorOptions(kF32, device()))).template item<float>(), 10);
}

TEST_P(Fusion, ErrorsNameWhatIsWrong) {
  const Tensor a = ones({2, 3}, TensorOptions(device()));
  const auto f = fuse<2>([](auto x, auto y) { return x + y; });
  EXPECT_NE(error_of([&] { (void)f(a, ones({4}, TensorOptions(device()))); }).find("broadcast"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)f(a, Tensor()); }).find("undefined"), std::string::npos);
  const auto mixed = fuse<2>([](auto x, auto i) { return x + (i * 3); });
  const Tensor whole = ones({2, 3}, TensorOptions(kI64, device()));
  EXPECT_NE(error_of([&] { (void)mixed(a, whole); }).find("[mul] on integers"), std::string::npos);
  const auto bits = fuse<1>([](auto x) { return x & 1; });
  EXPECT_NE(error_of([&] { (void)bits(a); }).find("[bitwise_and]"), std::string::npos);
  if (!device().is_cpu()) {
    EXPECT_NE(error_of([&] { (void)f(a, ones({3})); }).find("different devices"),
              std::string::npos);
  }
}

TEST_P(Fusion, RandomProgramsEqualTheUnfusedResult) {
  // The same random walk over the operations, once on values and once on tensors.
  const auto walk = [](uint32_t seed, auto x, auto y) {
    std::mt19937 random(seed);
    std::vector<decltype(x)> known = {x, y};
    for (int step = 0; step < 20; ++step) {
      const auto pick = [&] { return known[random() % known.size()]; };
      auto a = pick();
      auto b = pick();
      switch (random() % 9) {
        case 0:
          known.push_back((a + b) * 0.5);
          break;
        case 1:
          known.push_back(a - b);
          break;
        case 2:
          known.push_back(tanh(a) * b);
          break;
        case 3:
          known.push_back(maximum(a, b));
          break;
        case 4:
          known.push_back(where(a > b, a, b));
          break;
        case 5:
          known.push_back(sigmoid(a));
          break;
        case 6:
          known.push_back(abs(a));
          break;
        case 7:
          known.push_back(minimum(a, b) + 0.25);
          break;
        default:
          known.push_back(sqrt(abs(a)) - b);
          break;
      }
    }
    return known.back();
  };
  const Tensor a = make(random_array({37}, 2, 1), kF64);
  const Tensor b = make(random_array({3, 37}, 2, 2), kF64);
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const auto fused = fuse<2>([&](Expr x, Expr y) { return walk(seed, x, y); });
    const Tensor wanted = walk(seed, a, b).expand({3, 37});
    const Tensor got = fused(a, b);
    EXPECT_TRUE(allclose(got, wanted, 1e-12, 1e-12)) << "seed " << seed << "\n" << fused.text(a, b);
  }
}

}  // namespace
}  // namespace ferry::test
