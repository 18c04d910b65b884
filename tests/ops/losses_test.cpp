// SPDX-License-Identifier: Apache-2.0
//
// Losses against PyTorch's for the same arguments, on every device.
#include "ferry/losses.h"

#include <cmath>

#include "function_cases.h"

namespace ferry::test {
namespace {

class Losses : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Losses);

using Out = std::vector<Tensor>;

Reduction reduction_of(const FunctionCase& c) {
  const std::string word = c.text("reduction");
  return word == "none" ? Reduction::kNone : word == "sum" ? Reduction::kSum : Reduction::kMean;
}

CrossEntropyOptions class_options(const FunctionCase& c) {
  return {c.tensor("weight"), c.integer("ignore_index", -100), reduction_of(c),
          c.number("label_smoothing", 0)};
}

const FunctionTable kLosses = {
    {"cross_entropy",
     [](const FunctionCase& c) -> Out {
       return {cross_entropy(c.tensor("input"), c.tensor("target"), class_options(c))};
     }},
    {"nll_loss",
     [](const FunctionCase& c) -> Out {
       return {nll_loss(c.tensor("input"), c.tensor("target"), class_options(c))};
     }},
    {"mse_loss",
     [](const FunctionCase& c) -> Out {
       return {mse_loss(c.tensor("input"), c.tensor("target"), reduction_of(c))};
     }},
    {"l1_loss",
     [](const FunctionCase& c) -> Out {
       return {l1_loss(c.tensor("input"), c.tensor("target"), reduction_of(c))};
     }},
    {"smooth_l1_loss",
     [](const FunctionCase& c) -> Out {
       return {smooth_l1_loss(c.tensor("input"), c.tensor("target"), reduction_of(c),
                              c.number("beta"))};
     }},
    {"huber_loss",
     [](const FunctionCase& c) -> Out {
       return {
           huber_loss(c.tensor("input"), c.tensor("target"), reduction_of(c), c.number("delta"))};
     }},
    {"bce",
     [](const FunctionCase& c) -> Out {
       return {binary_cross_entropy_with_logits(
           c.tensor("input"), c.tensor("target"),
           {c.tensor("weight"), c.tensor("pos_weight"), reduction_of(c)})};
     }},
    {"kl_div",
     [](const FunctionCase& c) -> Out {
       return {
           kl_div(c.tensor("input"), c.tensor("target"), reduction_of(c), c.flag("log_target"))};
     }},
};

TEST_P(Losses, AsPyTorch) { run_cases(kLosses, device(), 76); }

TEST_P(Losses, LargeScoresStayFinite) {
  const Tensor x = tensor<float>({1000, -1000, 1000, -1000}).view({2, 2}).to(device());
  const Tensor classes = tensor<int64_t>({0, 1}).to(device());
  EXPECT_FLOAT_EQ(cross_entropy(x, classes).item<float>(), 1000);
  EXPECT_FLOAT_EQ(
      binary_cross_entropy_with_logits(x, zeros_like(x), {{}, {}, Reduction::kSum}).item<float>(),
      2000);
}

TEST_P(Losses, IgnoredClassesMayBeAnything) {
  const Tensor x = tensor<float>({0, 0, -INFINITY, -INFINITY}).view({2, 2}).to(device());
  const Tensor classes = tensor<int64_t>({1, -100}).to(device());
  CrossEntropyOptions sum;
  sum.reduction = Reduction::kSum;
  EXPECT_FLOAT_EQ(nll_loss(x, classes, sum).item<float>(), 0);
  EXPECT_FLOAT_EQ(cross_entropy(x, classes).item<float>(), std::log(2.0f));
}

TEST_P(Losses, RefusalsNameTheLoss) {
  const Tensor x = ones({2, 3}, device());
  EXPECT_NE(error_of([&] { (void)cross_entropy(x, x.to(kI32)); }).find("[cross_entropy] classes"),
            std::string::npos);
  EXPECT_NE(error_of([&] { (void)mse_loss(x.to(kI64), x); }).find("[mse_loss]"), std::string::npos);
  CrossEntropyOptions smooth;
  smooth.label_smoothing = 0.1;
  const Tensor classes = tensor<int64_t>({0, 1}).to(device());
  EXPECT_NE(error_of([&] { (void)nll_loss(x, classes, smooth); }).find("[nll_loss]"),
            std::string::npos);
}

}  // namespace
}  // namespace ferry::test
