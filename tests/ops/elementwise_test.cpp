// SPDX-License-Identifier: Apache-2.0
//
// Every line of the op list: all dtypes, special values, integer extremes and
// sizes around vector widths. A new line is tested without an edit.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common.h"
#include "ferry/abi/program.h"
#include "reference/round.h"
#include "scalar_case.h"

namespace ferry::test {
namespace {

using reference::Array;
using reference::Rule;
using reference::ScalarOp;

class Elementwise : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Elementwise);

TEST_P(Elementwise, AllOpsDtypesAndSpecialValues) {
  for (const ScalarOp& op : scalar_functions()) {
    for (const DType dtype : kAllDtypes) {
      const std::vector<double> values = values_for(dtype);
      const auto count = static_cast<int64_t>(values.size());
      const int64_t n = op.arity == 1 ? count : count * count;
      Array a({n}), b({n}), c({n});
      for (int64_t i = 0; i < n; ++i) {
        a.at(i) = values[static_cast<size_t>(i % count)];
        b.at(i) = values[static_cast<size_t>(i / count % count)];
        c.at(i) = values[static_cast<size_t>((i * 7 + i / count * 3 + 3) % count)];
      }
      a = rounded(std::move(a), first_dtype(op, dtype));
      b = rounded(std::move(b), dtype);
      c = rounded(std::move(c), dtype);
      const Tensor ta = make(a, first_dtype(op, dtype));
      const Tensor tb = make(b, dtype);
      const Tensor tc = make(c, dtype);
      if (is_refused(op, dtype)) {
        const std::string text = error_of([&] { (void)apply(op, {ta, tb, tc}); });
        EXPECT_TRUE(text.starts_with("[" + std::string(op.name) + "]")) << text;
        continue;
      }
      ScalarCase(op, dtype).check(apply(op, {ta, tb, tc}), {n}, a, b, c);
      if (HasFatalFailure()) return;
    }
  }
}

/// Fills an array of n with the values in turn, beginning at `from`.
Array cycle(const std::vector<double>& values, int64_t n, size_t from, DType dtype) {
  Array out({n});
  for (int64_t i = 0; i < n; ++i) {
    out.at(i) = values[(from + static_cast<size_t>(i)) % values.size()];
  }
  return rounded(std::move(out), dtype);
}

TEST_P(Elementwise, AllOpsDtypesAndSizesAroundVectorWidths) {
  for (const DType dtype : kAllDtypes) {
    std::vector<double> values = values_for(dtype);
    // A list as long as no vector, so that each lane meets each value.
    if (is_floating_point(dtype)) values.insert(values.end(), {0.25, 1.75, -3, 12.5, -0.75});
    for (const int64_t n :
         {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 511, 513, 1000, 4099}) {
      // Odd sizes begin one element into their memory.
      const auto placed = [&](const Array& array, DType own) {
        if (n % 2 == 0) return make(array, own);
        const Tensor room = zeros({n + 1}, TensorOptions(own, device()));
        return room.narrow(0, 1, n).copy_(make(array, own));
      };
      const Array truth = cycle({1, 0, 0, 1, 1}, n, 0, kBool);
      const Array a = cycle(values, n, 0, dtype);
      const Array b = cycle(values, n, 1, dtype);
      const Array c = cycle(values, n, 5, dtype);
      const Tensor tt = placed(truth, kBool);
      const Tensor ta = placed(a, dtype);
      const Tensor tb = placed(b, dtype);
      const Tensor tc = placed(c, dtype);
      for (const ScalarOp& op : scalar_functions()) {
        if (is_refused(op, dtype)) continue;
        const bool chooses = op.rule == Rule::WHERE;
        const Tensor got = apply(op, {chooses ? tt : ta, tb, tc});
        ScalarCase(op, dtype).check(got, {n}, chooses ? truth : a, b, c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// Integers of a dtype whose results wrap, or lose places in a double.
std::vector<int64_t> extremes_of(DType dtype) {
  const auto bits = static_cast<int>(8 * item_size(dtype));
  const auto most = static_cast<int64_t>(
      dtype == kU8 ? 255u : std::numeric_limits<uint64_t>::max() >> (65 - bits));
  const int64_t least = dtype == kU8 ? 0 : -most - 1;
  std::vector<int64_t> out = {0, 1, 2, 3, 7, most, most - 1, most / 2, least, least + 1};
  if (dtype != kU8) out.insert(out.end(), {-1, -2, -3, least / 2});
  if (dtype == kI64) out.insert(out.end(), {9007199254740993, -9007199254740993});
  return out;
}

TEST_P(Elementwise, IntegerExtremes) {
  // Beyond the places of a long double the wide judge is silent; IntegersWrap
  // speaks for products there.
  const long double limit = std::ldexp(1.0L, std::numeric_limits<long double>::digits);
  for (const DType dtype : {kU8, kI8, kI16, kI32, kI64}) {
    const std::vector<int64_t> values = extremes_of(dtype);
    const size_t count = values.size();
    std::vector<int64_t> a, b, c;
    for (size_t i = 0; i < count * count; ++i) {
      a.push_back(values[i % count]);
      b.push_back(values[i / count]);
      c.push_back(values[(i * 5 + i / count) % count]);
    }
    const auto n = static_cast<int64_t>(a.size());
    const Tensor ta = tensor(a, {n}, device()).to(dtype);
    const Tensor tb = tensor(b, {n}, device()).to(dtype);
    const Tensor tc = tensor(c, {n}, device()).to(dtype);
    for (const ScalarOp& op : scalar_functions()) {
      if (op.rule == Rule::FLOAT) continue;
      const bool chooses = op.rule == Rule::WHERE;
      const std::vector<int64_t> got =
          apply(op, {chooses ? ta > 0 : ta, tb, tc}).to(kI64).to_vector<int64_t>();
      int checked = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        const auto first =
            chooses ? static_cast<long double>(a[i] > 0) : static_cast<long double>(a[i]);
        long double exact =
            op.wide(first, static_cast<long double>(b[i]), static_cast<long double>(c[i]));
        if (std::isnan(exact)) exact = 0;  // a remainder by 0
        if (std::fabs(exact) >= std::min(limit, 0x1p64L)) continue;
        ++checked;
        const auto out = static_cast<ferry_dtype>(op.rule == Rule::BOOL ? kI64 : dtype);
        ASSERT_EQ(got[i], reference::wrap_to(out, exact))
            << op.name << " of " << name(dtype) << ": " << a[i] << ", " << b[i] << ", " << c[i];
      }
      ASSERT_GT(checked, static_cast<int>(count)) << op.name;
    }
  }
}

TEST_P(Elementwise, IntegersWrap) {
  const Tensor a = tensor<int32_t>({2147483647, -2147483647 - 1}, device());
  EXPECT_EQ((a + 1).to_vector<int32_t>(), (std::vector<int32_t>{-2147483647 - 1, -2147483647}));
  EXPECT_EQ((-a).to_vector<int32_t>(), (std::vector<int32_t>{-2147483647, -2147483647 - 1}));
  EXPECT_EQ(abs(a).to_vector<int32_t>(), (std::vector<int32_t>{2147483647, -2147483647 - 1}));
  const std::vector<int64_t> values = extremes_of(kI64);
  const Tensor x = tensor(values, {static_cast<int64_t>(values.size())}, device());
  for (const int64_t factor : values) {
    std::vector<int64_t> products, sums;
    for (const int64_t v : values) {
      const auto left = static_cast<uint64_t>(v);
      const auto right = static_cast<uint64_t>(factor);
      products.push_back(static_cast<int64_t>(left * right));
      sums.push_back(static_cast<int64_t>(left + right));
    }
    EXPECT_EQ((x * factor).to_vector<int64_t>(), products);
    EXPECT_EQ((factor + x).to_vector<int64_t>(), sums);
  }
}

TEST_P(Elementwise, IntegerDivisionByZeroIsInfinite) {
  for (const DType dtype : {kU8, kI8, kI16, kI32, kI64}) {
    std::vector<int64_t> divisors(1000, 1);
    divisors[999] = 0;
    const Tensor one = ones({1000}, TensorOptions(dtype, device()));
    const std::vector<float> got =
        div(one, tensor(divisors, {1000}, device()).to(dtype)).to_vector<float>();
    EXPECT_EQ(got[998], 1);
    EXPECT_EQ(got[999], std::numeric_limits<float>::infinity());
    EXPECT_TRUE(std::isnan((zeros({3}, TensorOptions(dtype, device())) / 0).to_vector<float>()[1]));
  }
}

TEST_P(Elementwise, ClampHasNumpysBounds) {
  const float nan = std::nanf("");
  const Tensor x = tensor<float>({nan, 5, -5, 0.5}, device());
  const std::vector<float> got = clamp(x, Scalar(0), Scalar(1)).to_vector<float>();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ((std::vector<float>(got.begin() + 1, got.end())), (std::vector<float>{1, 0, 0.5}));
  // Where the bounds cross, the upper one wins.
  EXPECT_EQ(clamp(ones({1}, device()) * 5, Scalar(10), Scalar(1)).item<float>(), 1);
  EXPECT_TRUE(std::isnan(clamp(ones({1}, device()), Scalar(nan), Scalar(1)).item<float>()));
  EXPECT_EQ(clamp(tensor<int32_t>({-3, 3, 9}, device()), Scalar(0), Scalar(5)).to_vector<int32_t>(),
            (std::vector<int32_t>{0, 3, 5}));
  EXPECT_TRUE(std::isnan(relu(x).to_vector<float>()[0]));
}

TEST_P(Elementwise, SignsOfZerosAreKept) {
  const Tensor zero = full({9}, -0.0, TensorOptions(device()));
  const float negative = -std::numeric_limits<float>::infinity();
  const std::vector<float> expected(9, negative);
  const Tensor forms[] = {zero,
                          zero.clone(),
                          zero.to(kF64).to(kF32),
                          zero.to(kF16).to(kF32),
                          zero.to(kBF16).to(kF32),
                          zero.cpu().to(device(), {.copy = true}),
                          -abs(zero),
                          zero * 3,
                          sqrt(zero),
                          round(zero - 0.25),
                          zero.slice(0, 0, 9, 2).expand({9, 5}).select(1, 0)};
  for (size_t i = 0; i < std::size(forms); ++i) {
    EXPECT_EQ((1 / forms[i]).to_vector<float>(), expected) << "form " << i;
  }
}

}  // namespace
}  // namespace ferry::test
