// SPDX-License-Identifier: Apache-2.0
//
// The functions of ferry/functional.h against what PyTorch gave for the same
// arguments (make_function_fixtures.py), on every device.
#include "ferry/functional.h"

#include <limits>

#include "function_cases.h"

namespace ferry::test {
namespace {

class Functional : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Functional);

using Out = std::vector<Tensor>;

const FunctionTable kStatistics = {
    {"var",
     [](const FunctionCase& c) -> Out {
       return {var(c.tensor("x"), c.ints("dims"), c.number("correction"))};
     }},
    {"std",
     [](const FunctionCase& c) -> Out {
       return {ferry::std(c.tensor("x"), c.ints("dims"), c.number("correction"))};
     }},
    {"norm",
     [](const FunctionCase& c) -> Out {
       return {norm(c.tensor("x"), c.number("p"), c.ints("dims"))};
     }},
    {"logsumexp",
     [](const FunctionCase& c) -> Out { return {logsumexp(c.tensor("input"), c.ints("dim"))}; }},
    {"max",
     [](const FunctionCase& c) -> Out {
       const auto [values, indices] = max(c.tensor("input"), c.integer("dim"));
       return {values, indices};
     }},
    {"min",
     [](const FunctionCase& c) -> Out {
       const auto [values, indices] = min(c.tensor("input"), c.integer("dim"));
       return {values, indices};
     }},
    {"count_nonzero",
     [](const FunctionCase& c) -> Out {
       return {count_nonzero(c.tensor("input"), c.ints("dim"))};
     }},
    {"cosine_similarity",
     [](const FunctionCase& c) -> Out {
       return {cosine_similarity(c.tensor("x1"), c.tensor("x2"), c.integer("dim"))};
     }},
};

const FunctionTable kProducts = {
    {"bmm",
     [](const FunctionCase& c) -> Out { return {bmm(c.tensor("input"), c.tensor("mat2"))}; }},
    {"mv", [](const FunctionCase& c) -> Out { return {mv(c.tensor("input"), c.tensor("vec"))}; }},
    {"addmm",
     [](const FunctionCase& c) -> Out {
       return {addmm(c.tensor("input"), c.tensor("mat1"), c.tensor("mat2"), c.number("beta"),
                     c.number("alpha"))};
     }},
    {"baddbmm",
     [](const FunctionCase& c) -> Out {
       return {baddbmm(c.tensor("input"), c.tensor("batch1"), c.tensor("batch2"), c.number("beta"),
                       c.number("alpha"))};
     }},
    {"einsum",
     [](const FunctionCase& c) -> Out {
       std::vector<Tensor> operands;
       for (int i = 0; c.has_tensor("x" + std::to_string(i)); ++i) {
         operands.push_back(c.tensor("x" + std::to_string(i)));
       }
       return {einsum(c.text("equation"), operands)};
     }},
};

const FunctionTable kNorms = {
    {"layer_norm",
     [](const FunctionCase& c) -> Out {
       return {layer_norm(c.tensor("input"), c.ints("normalized_shape"), c.tensor("weight"),
                          c.tensor("bias"), c.number("eps"))};
     }},
    {"rms_norm",
     [](const FunctionCase& c) -> Out {
       return {rms_norm(c.tensor("input"), c.ints("normalized_shape"), c.tensor("weight"),
                        c.number("eps"))};
     }},
    {"group_norm",
     [](const FunctionCase& c) -> Out {
       return {group_norm(c.tensor("input"), c.integer("num_groups"), c.tensor("weight"),
                          c.tensor("bias"), c.number("eps"))};
     }},
    {"instance_norm",
     [](const FunctionCase& c) -> Out {
       return {
           instance_norm(c.tensor("input"), c.tensor("weight"), c.tensor("bias"), c.number("eps"))};
     }},
};

const FunctionTable kAttention = {
    {"attention",
     [](const FunctionCase& c) -> Out {
       AttentionOptions o;
       o.mask = c.tensor("mask");
       o.is_causal = c.flag("is_causal");
       if (c.has("scale")) o.scale = c.number("scale");
       return {
           scaled_dot_product_attention(c.tensor("query"), c.tensor("key"), c.tensor("value"), o)};
     }},
};

const FunctionTable kImages = {
    {"interpolate",
     [](const FunctionCase& c) -> Out {
       InterpolateOptions o;
       o.size = c.ints("size");
       o.scale_factor = c.numbers("scale_factor");
       o.mode = c.text("mode") == "nearest" ? Interpolation::kNearest : Interpolation::kBilinear;
       o.align_corners = c.flag("align_corners");
       return {interpolate(c.tensor("input"), o)};
     }},
    {"conv1d",
     [](const FunctionCase& c) -> Out {
       const Conv1dOptions o{c.integer("stride", 1), c.integer("padding", 0),
                             c.integer("dilation", 1), c.integer("groups", 1)};
       return {conv1d(c.tensor("input"), c.tensor("weight"), c.tensor("bias"), o)};
     }},
    {"conv_transpose2d",
     [](const FunctionCase& c) -> Out {
       const ConvTranspose2dOptions o{c.pair("stride", 1), c.pair("padding", 0),
                                      c.pair("output_padding", 0), c.pair("dilation", 1),
                                      c.integer("groups", 1)};
       return {conv_transpose2d(c.tensor("input"), c.tensor("weight"), c.tensor("bias"), o)};
     }},
    {"adaptive_avg_pool2d",
     [](const FunctionCase& c) -> Out {
       return {adaptive_avg_pool2d(c.tensor("input"), c.pair("output_size", 0))};
     }},
    {"max_pool1d",
     [](const FunctionCase& c) -> Out {
       const Pool1dOptions o{c.integer("kernel_size", 0), c.integer("stride", 0),
                             c.integer("padding", 0), c.integer("dilation", 1),
                             c.flag("ceil_mode")};
       return {max_pool1d(c.tensor("input"), o)};
     }},
};

TEST_P(Functional, StatisticsAsPyTorch) { run_cases(kStatistics, device(), 56); }
TEST_P(Functional, ProductsAsPyTorch) { run_cases(kProducts, device(), 58); }
TEST_P(Functional, NormsAsPyTorch) { run_cases(kNorms, device(), 17); }
TEST_P(Functional, AttentionAsPyTorch) { run_cases(kAttention, device(), 20); }
TEST_P(Functional, ImagesAsPyTorch) { run_cases(kImages, device(), 50); }

TEST_P(Functional, HalvesAreComputedWider) {
  const Tensor x = full({3, 1000}, 300, {kF16, device()});
  // 1000 * 300^2 is beyond what float16 holds.
  EXPECT_EQ(norm(x, 2, {1}).to(kF32).cpu().to_vector<float>(),
            std::vector<float>(3, static_cast<float>(Half(9486.8330f))));
  EXPECT_EQ(rms_norm(x, {1000}).to(kF32).cpu().to_vector<float>(), std::vector<float>(3000, 1.0f));
  EXPECT_EQ(var(x, {1}).dtype(), kF16);
}

TEST_P(Functional, RotationsKeepLengthsAndShifts) {
  const Tensor x = make(random_array({2, 5, 8}, 1, 3), kF32);
  const RotaryTables tables = rotary_tables(5, 8, 10000, device());
  for (const bool interleaved : {false, true}) {
    const Tensor y = rotary_embedding(x, tables, interleaved);
    EXPECT_TRUE(allclose(norm(y, 2, {-1}), norm(x, 2, {-1}), 1e-5, 1e-6));
    EXPECT_TRUE(equal(y.select(1, 0), x.select(1, 0)));  // position 0 is not turned
    EXPECT_FALSE(allclose(y.select(1, 1), x.select(1, 1), 1e-2, 1e-2));
  }
  // Products depend on the distance of positions alone.
  const Tensor same = x.select(1, 0).unsqueeze(1).expand({2, 5, 8});
  const Tensor turned = rotary_embedding(same, tables);
  const Tensor scores = matmul(turned, turned.transpose(-1, -2));
  EXPECT_TRUE(allclose(scores.slice(1, 1, 5).slice(2, 1, 5), scores.slice(1, 0, 4).slice(2, 0, 4),
                       1e-4, 1e-5));
}

TEST_P(Functional, RotatesByKnownAngles) {
  const Tensor x = tensor<float>({1, 2, 3, 4}).view({1, 4}).to(device());
  const RotaryTables quarter{tensor<float>({0, 1}).view({1, 2}).to(device()),
                             tensor<float>({1, 0}).view({1, 2}).to(device())};
  EXPECT_EQ(rotary_embedding(x, quarter).cpu().to_vector<float>(),
            (std::vector<float>{-3, 2, 1, 4}));
  EXPECT_EQ(rotary_embedding(x, quarter, true).cpu().to_vector<float>(),
            (std::vector<float>{-2, 1, 3, 4}));
}

TEST_P(Functional, RefusalsNameFunctionAndShapes) {
  const TensorOptions on(device());
  const Tensor x = ones({2, 3}, on);
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const std::string product = error_of([&] { (void)bmm(x, x); });
  EXPECT_TRUE(says(product, "[bmm]") && says(product, "[2, 3] and [2, 3]")) << product;
  const std::string sum = error_of([&] { (void)einsum("ij,kj->il", {x, x}); });
  EXPECT_TRUE(says(sum, "[einsum]") && says(sum, "ij,kj->il")) << sum;
  EXPECT_TRUE(says(error_of([&] { (void)var(x.to(kI32)); }), "[var]"));
  EXPECT_TRUE(says(error_of([&] { (void)rotary_tables(2, 3); }), "[rotary_tables]"));
  EXPECT_TRUE(says(error_of([&] { (void)rotary_embedding(x, rotary_tables(2, 2)); }),
                   "[rotary_embedding]"));
  EXPECT_TRUE(
      says(error_of([&] { (void)norm(x, std::numeric_limits<double>::quiet_NaN()); }), "[norm]"));
  EXPECT_TRUE(says(error_of([&] { (void)adaptive_avg_pool2d(x, {1, 1}); }), "[2, 3]"));
}

}  // namespace
}  // namespace ferry::test
