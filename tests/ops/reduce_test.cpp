// SPDX-License-Identifier: Apache-2.0
//
// Reductions: every set of dimensions, dtypes, empty ones, NaN, accuracy of
// long sums, and the same bits each time.
#include <cmath>
#include <limits>

#include "common.h"
#include "reference/reduce.h"

namespace ferry::test {
namespace {

using reference::Array;

class Reductions : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Reductions);

using Function = Tensor (*)(const Tensor&, Sizes, bool);
struct Op {
  const char* name;
  ferry_reduce_op code;
  Function function;
};
constexpr Op kOps[] = {{"sum", FERRY_REDUCE_SUM, &sum},   {"prod", FERRY_REDUCE_PROD, &prod},
                       {"amax", FERRY_REDUCE_MAX, &amax}, {"amin", FERRY_REDUCE_MIN, &amin},
                       {"any", FERRY_REDUCE_ANY, &any},   {"all", FERRY_REDUCE_ALL, &all}};

Shape dims_of(uint32_t axes, size_t ndim) {
  Shape out;
  for (size_t d = 0; d < ndim; ++d) {
    // Some by counting from the end.
    if ((axes >> d & 1) != 0) {
      out.push_back(static_cast<int64_t>(d) - (d % 2 == 1 ? static_cast<int64_t>(ndim) : 0));
    }
  }
  return out;
}

Shape without(const Shape& shape, uint32_t axes) {
  Shape out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((axes >> d & 1) == 0) out.push_back(shape[d]);
  }
  return out;
}

DType wide(DType dtype) { return is_floating_point(dtype) ? dtype : kI64; }

TEST_P(Reductions, EverySetOfDimensionsAndDtype) {
  const Shape shape = {3, 4, 1, 17};
  const Array values = random_array(shape, 3, 5);
  int checked = 0;
  for (const DType dtype : kAllDtypes) {
    const Array x = rounded(values, dtype);
    const Tensor t = make(x, dtype);
    for (uint32_t axes = 1; axes < 16; ++axes) {
      const Shape dims = dims_of(axes, 4);
      for (const Op& op : kOps) {
        if (op.code == FERRY_REDUCE_PROD && axes == 15) continue;  // beyond every range
        Array want = reference::reduce(op.code, x, axes);
        const bool is_bool = op.code == FERRY_REDUCE_ANY || op.code == FERRY_REDUCE_ALL;
        const bool widens = op.code == FERRY_REDUCE_SUM || op.code == FERRY_REDUCE_PROD;
        const Tensor kept = op.function(t, dims, true);
        ASSERT_EQ(kept.dtype(), is_bool ? kBool : widens ? wide(dtype) : dtype) << op.name;
        // Doubles cannot judge greater integers; ProductsOfIntegersWrap does.
        bool judged = true;
        for (const double v : want.data) {
          judged = judged && (is_floating_point(dtype) || std::fabs(v) <= 0x1p53);
        }
        if (!judged) continue;
        const double relative = is_floating_point(dtype) && widens ? 1e-6 : 0;
        ASSERT_TRUE(matches(kept, want, relative, relative)) << op.name << " " << name(dtype);
        const Tensor dropped = op.function(t, dims, false);
        want.shape = without(shape, axes);
        ASSERT_TRUE(matches(dropped, want, relative, relative)) << op.name << " " << name(dtype);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 10 * 15 * 5);
}

TEST_P(Reductions, StridedInputs) {
  const Array x = rounded(random_array({9, 14}, 2, 8), kF32);
  const Tensor t = make(x, kF32);
  const Tensor views[] = {t.t(), t.slice(1, 1, 14, 3), t.narrow(0, 2, 5),
                          t.select(0, 3).expand({4, 14})};
  for (const Tensor& v : views) {
    const Array own = array_of(v);
    for (uint32_t axes = 1; axes < 4; ++axes) {
      const Array want = reference::reduce(FERRY_REDUCE_SUM, own, axes);
      EXPECT_TRUE(matches(sum(v, dims_of(axes, 2), true), want, 1e-6, 1e-6));
      const Array most = reference::reduce(FERRY_REDUCE_MAX, own, axes);
      EXPECT_TRUE(matches(amax(v, dims_of(axes, 2), true), most, 0));
    }
  }
}

TEST_P(Reductions, ZeroDimAndAllDimensions) {
  const Tensor t = full({}, 2.5, TensorOptions(device()));
  EXPECT_EQ(sum(t).item<float>(), 2.5f);
  EXPECT_EQ(sum(t).dim(), 0);
  EXPECT_EQ(amax(t).item<float>(), 2.5f);
  EXPECT_EQ(argmax(t).item<int64_t>(), 0);
  EXPECT_EQ(mean(t).item<float>(), 2.5f);
  EXPECT_EQ(sum(ones({2, 3}, TensorOptions(device())), {}, true).shape(), (Shape{1, 1}));
}

TEST_P(Reductions, OfNothing) {
  const Tensor t = empty({0, 3}, TensorOptions(device()));
  EXPECT_EQ(sum(t).item<float>(), 0);
  EXPECT_EQ(prod(t).item<float>(), 1);
  EXPECT_TRUE(std::isnan(mean(t).item<float>()));
  EXPECT_EQ(sum(t, {0}).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(sum(t, {1}).shape(), (Shape{0}));
  EXPECT_FALSE(any(t).item<bool>());
  EXPECT_TRUE(all(t).item<bool>());
  EXPECT_NE(error_of([&] { (void)amax(t); }).find("[amax]"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)argmax(t, 0); }).find("empty"), std::string::npos);
  EXPECT_EQ(amax(t, {1}).shape(), (Shape{0}));
}

TEST_P(Reductions, NanIsTheExtremeAndFirstPositionsWin) {
  const float nan = std::nanf("");
  const Tensor t = tensor<float>({1, nan, 3, nan}).to(device());
  EXPECT_TRUE(std::isnan(amax(t).item<float>()));
  EXPECT_TRUE(std::isnan(amin(t).item<float>()));
  EXPECT_EQ(argmax(t).item<int64_t>(), 1);
  EXPECT_EQ(argmin(t).item<int64_t>(), 1);
  EXPECT_TRUE(std::isnan(sum(t).item<float>()));
  EXPECT_TRUE(any(tensor<float>({0, nan}).to(device())).item<bool>());
  const Tensor ties = tensor<int32_t>({3, 7, 7, 1, 1}).to(device());
  EXPECT_EQ(argmax(ties).item<int64_t>(), 1);
  EXPECT_EQ(argmin(ties).item<int64_t>(), 3);
}

TEST_P(Reductions, PositionsAlongEachDimension) {
  const Array x = rounded(random_array({4, 5, 6}, 100, 2), kF32);
  const Tensor t = make(x, kF32);
  for (uint32_t d = 0; d < 3; ++d) {
    Array most = reference::reduce(FERRY_REDUCE_ARGMAX, x, 1u << d);
    // The judge counts within the part, in order: the position along d.
    EXPECT_TRUE(matches(argmax(t, d, true), most, 0));
    most = reference::reduce(FERRY_REDUCE_ARGMIN, x, 1u << d);
    EXPECT_TRUE(matches(argmin(t, d, true), most, 0));
  }
  EXPECT_EQ(argmax(t.transpose(0, 2).select(0, 0), 0).device(), device());
}

TEST_P(Reductions, MeanOfHalvesDoesNotOverflow) {
  const Tensor t = full({1000}, 60000.0, TensorOptions(kF16, device()));
  EXPECT_EQ(mean(t).to(kF32).item<float>(), 60000.f);
  EXPECT_EQ(mean(t).dtype(), kF16);
}

TEST_P(Reductions, IntegerSumsAndProductsWrap) {
  const auto most = std::numeric_limits<int64_t>::max();
  const Tensor t = tensor<int64_t>({most, most, 3, 5, most - 7, 11}, device()).view({2, 3});
  const auto wrapped = [](std::initializer_list<int64_t> values, bool product) {
    uint64_t out = product ? 1 : 0;
    for (const int64_t v : values) {
      out = product ? out * static_cast<uint64_t>(v) : out + static_cast<uint64_t>(v);
    }
    return static_cast<int64_t>(out);
  };
  for (const bool product : {false, true}) {
    const Tensor rows = product ? prod(t, {1}) : sum(t, {1});
    EXPECT_EQ(rows.to_vector<int64_t>(),
              (std::vector<int64_t>{wrapped({most, most, 3}, product),
                                    wrapped({5, most - 7, 11}, product)}));
    const Tensor columns = product ? prod(t, {0}) : sum(t, {0});
    EXPECT_EQ(columns.to_vector<int64_t>(),
              (std::vector<int64_t>{wrapped({most, 5}, product), wrapped({most, most - 7}, product),
                                    wrapped({3, 11}, product)}));
    const Tensor whole = product ? prod(t) : sum(t);
    EXPECT_EQ(whole.item<int64_t>(), wrapped({most, most, 3, 5, most - 7, 11}, product));
  }
  EXPECT_EQ(amax(t).item<int64_t>(), most);
  EXPECT_EQ(argmin(t).item<int64_t>(), 2);
  const Tensor close = tensor<int64_t>({9007199254740992, 9007199254740993}, device());
  EXPECT_EQ(argmax(close).item<int64_t>(), 1);
  EXPECT_EQ(amin(close).item<int64_t>(), 9007199254740992);
}

TEST_P(Reductions, SmallDtypesSumInInt64) {
  EXPECT_EQ(sum(full({200}, 100, TensorOptions(kI8, device()))).item<int64_t>(), 20000);
  EXPECT_EQ(sum(full({1000}, 255, TensorOptions(kU8, device()))).item<int64_t>(), 255000);
  EXPECT_EQ(sum(ones({70000}, TensorOptions(kBool, device()))).item<int64_t>(), 70000);
  EXPECT_EQ(prod(full({20}, 8, TensorOptions(kI8, device()))).item<int64_t>(), int64_t{1} << 60);
  EXPECT_EQ(sum(ones({3}, TensorOptions(kBool, device()))).dtype(), kI64);
}

TEST_P(Reductions, SizesAroundVectorWidths) {
  for (const DType dtype : {kF32, kF64, kI32, kU8, kF16, kBool}) {
    for (const int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 1000, 4099}) {
      const Array x = rounded(random_array({3, n}, 3, 17), dtype);
      const Tensor t = make(x, dtype);
      for (const Op& op : kOps) {
        if (op.code == FERRY_REDUCE_PROD) continue;
        const bool adds = op.code == FERRY_REDUCE_SUM && is_floating_point(dtype);
        Array size = x;
        for (double& v : size.data) v = std::fabs(v);
        for (uint32_t axes = 1; axes < 4; ++axes) {
          const Array want = reference::reduce(op.code, x, axes);
          const Array terms = reference::reduce(FERRY_REDUCE_SUM, size, axes);
          ASSERT_TRUE(matches(op.function(t, dims_of(axes, 2), true), want, terms,
                              adds ? 32 * unit_of(dtype == kF64 ? kF64 : kF32) : 0))
              << op.name << " of " << name(dtype) << " " << n << " axes " << axes;
        }
      }
    }
  }
}

TEST_P(Reductions, RefusesWhatIsNotDefined) {
  const Tensor t = ones({2, 3}, TensorOptions(device()));
  EXPECT_NE(error_of([&] { (void)sum(t, {0, -2}); }).find("twice"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)sum(t, {2}); }).find("outside -2..1"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)mean(t.to(kI32)); }).find("int32"), std::string::npos);
}

}  // namespace
}  // namespace ferry::test
