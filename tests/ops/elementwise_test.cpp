// SPDX-License-Identifier: Apache-2.0
//
// Every line of the op list: all dtypes, special values, sizes around vector
// widths, and operands of every form. A new line is tested without an edit.
#include <cmath>
#include <limits>

#include "common.h"
#include "ferry/abi/program.h"
#include "reference/round.h"
#include "reference/scalar.h"

namespace ferry::test {
namespace {

using reference::Array;
using reference::Rule;
using reference::ScalarOp;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Elementwise : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Elementwise);

bool is_refused_for_bool(const ScalarOp& op) {
  return op.rule == Rule::SAME && op.code != FERRY_OP_ADD && op.code != FERRY_OP_MUL &&
         op.code != FERRY_OP_MAXIMUM && op.code != FERRY_OP_MINIMUM;
}

DType result_dtype(const ScalarOp& op, DType in) {
  if (op.rule == Rule::BOOL) return kBool;
  return op.rule == Rule::FLOAT && !is_floating_point(in) ? kF32 : in;
}

DType compute_dtype(const ScalarOp& op, DType in) {
  const DType common = op.rule == Rule::FLOAT ? result_dtype(op, in) : in;
  if (common == kF64 || common == kI64) return common;
  return is_floating_point(common) ? kF32 : kI32;
}

/// How far a result of the op may be from the judge's.
double tolerance_of(const ScalarOp& op, DType in, DType out, double want) {
  if (!is_floating_point(out)) return 0;
  const auto computed = static_cast<ferry_dtype>(compute_dtype(op, in));
  // In f64 the judge is no better than the device.
  const double ulps = computed == FERRY_F64 ? std::max(op.ulp, 4.0) : op.ulp;
  double tolerance = ulps * reference::ulp_at(computed, want);
  if (static_cast<ferry_dtype>(out) != computed) {
    // Rounded twice: to f32, then to the half.
    tolerance += 0.5 * reference::ulp_at(static_cast<ferry_dtype>(out), want);
  }
  // What is no more than the smallest normal number may become 0.
  if (op.ulp > 0.5 && computed == FERRY_F32) tolerance += 0x1p-126;
  return tolerance;
}

class Case {
 public:
  Case(const ScalarOp& op, DType dtype) : op_(op), dtype_(dtype) {}

  /// What the op gives for operand values that are of the dtype.
  double want(double a, double b, double c) const {
    const DType compute = compute_dtype(op_, dtype_);
    const auto in = [&](double v) {
      return reference::round_to(static_cast<ferry_dtype>(compute), v);
    };
    return op_.judge(in(a), in(b), in(c));
  }

  void check(const Tensor& got, const std::vector<int64_t>& shape, const Array& a, const Array& b,
             const Array& c) const {
    const DType out = result_dtype(op_, dtype_);
    ASSERT_EQ(got.dtype(), out);
    ASSERT_EQ(got.shape(), shape);
    const Array values = array_of(got);
    for (int64_t i = 0; i < static_cast<int64_t>(values.data.size()); ++i) {
      const double exact = want(a.at(i), b.at(i), c.at(i));
      const double expected = reference::round_to(static_cast<ferry_dtype>(out), exact);
      ASSERT_TRUE(close(values.at(i), expected, tolerance_of(op_, dtype_, out, exact)))
          << op_.name << " of " << name(dtype_) << " at " << i << ": " << a.at(i) << ", " << b.at(i)
          << ", " << c.at(i);
    }
  }

 private:
  const ScalarOp& op_;
  DType dtype_;
};

Tensor apply(const ScalarOp& op, std::vector<detail::Operand> operands) {
  operands.resize(static_cast<size_t>(op.arity), detail::Operand(Scalar(0)));
  return detail::elementwise(op.code, operands);
}

/// Operand values for an op: ordinary ones of both signs, and where it makes
/// sense zeros, infinities, NaN, the smallest and the largest.
std::vector<double> values_for(DType dtype) {
  std::vector<double> out = {1, 2, 3, 5, 7, 0, 10, 100};
  if (dtype == kBool) return {0, 1};
  if (dtype != kU8) {
    for (const double v : {-1.0, -2.0, -7.0, -100.0}) out.push_back(v);
  }
  if (!is_floating_point(dtype)) return out;
  for (const double v :
       {0.5,   -0.5, 0.1,  -0.3,      1.5,        2.5,          -2.5,   1e-3, -1e-3, 3.7,
        -20.0, 20.0, -0.0, kInfinity, -kInfinity, std::nan(""), 0.9999, 1e-5, 30.0,  -30.0}) {
    out.push_back(v);
  }
  if (dtype == kF32 || dtype == kF64 || dtype == kBF16) {
    for (const double v : {1e-30, -1e-30, 1e30, -1e30, 1e-38, 1e-42}) out.push_back(v);
  }
  return out;
}

/// Fills an array of n with the values in turn, beginning at `from`.
Array cycle(const std::vector<double>& values, int64_t n, size_t from, DType dtype) {
  Array out({n});
  for (int64_t i = 0; i < n; ++i) {
    out.at(i) = values[(from + static_cast<size_t>(i)) % values.size()];
  }
  return rounded(std::move(out), dtype);
}

/// The first operand of a WHERE is a condition.
DType first_dtype(const ScalarOp& op, DType dtype) {
  return op.rule == Rule::WHERE ? kBool : dtype;
}

TEST_P(Elementwise, AllOpsDtypesAndSpecialValues) {
  for (const ScalarOp& op : reference::scalar_ops()) {
    if (op.rule == Rule::NONE) continue;
    for (const DType dtype : kAllDtypes) {
      const std::vector<double> values = values_for(dtype);
      const auto count = static_cast<int64_t>(values.size());
      const int64_t n = op.arity == 1 ? count : count * count;
      Array a({n}), b({n}), c({n});
      for (int64_t i = 0; i < n; ++i) {
        a.at(i) = values[static_cast<size_t>(i % count)];
        b.at(i) = values[static_cast<size_t>(i / count % count)];
        c.at(i) = values[static_cast<size_t>((i * 7 + 3) % count)];
      }
      a = rounded(std::move(a), first_dtype(op, dtype));
      b = rounded(std::move(b), dtype);
      c = rounded(std::move(c), dtype);
      const Tensor ta = make(a, first_dtype(op, dtype));
      const Tensor tb = make(b, dtype);
      const Tensor tc = make(c, dtype);
      if (dtype == kBool && is_refused_for_bool(op)) {
        EXPECT_THROW((void)apply(op, {ta, tb, tc}), InvalidArgument) << op.name;
        continue;
      }
      Case(op, dtype).check(apply(op, {ta, tb, tc}), {n}, a, b, c);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Elementwise, AllOpsSizesAroundVectorWidths) {
  for (const ScalarOp& op : reference::scalar_ops()) {
    if (op.rule == Rule::NONE) continue;
    const std::vector<double> values = {0.5, 1.25, 2, 3.75, 0.125, 6};
    for (const int64_t n :
         {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 511, 513, 1000, 4099}) {
      const Array a = cycle(values, n, 0, first_dtype(op, kF32));
      const Array b = cycle(values, n, 1, kF32);
      const Array c = cycle(values, n, 2, kF32);
      Case(op, kF32).check(
          apply(op, {make(a, first_dtype(op, kF32)), make(b, kF32), make(c, kF32)}), {n}, a, b, c);
      if (HasFatalFailure()) return;
    }
  }
}

/// The elements of `x` in the order of a view, as the view's copy has them.
struct Form {
  const char* name;
  Tensor (*view)(const Tensor&);
};
constexpr Form kForms[] = {
    {"as it is", [](const Tensor& x) { return x; }},
    {"transposed", [](const Tensor& x) { return x.transpose(0, 1); }},
    {"every second", [](const Tensor& x) { return x.slice(1, 0, 6, 2); }},
    {"one row repeated",
     [](const Tensor& x) {
       return x.narrow(0, 2, 1).expand({6, 6});
     }},
    {"one column repeated",
     [](const Tensor& x) {
       return x.narrow(1, 1, 1).expand({6, 6});
     }},
    {"0-dim", [](const Tensor& x) { return x.select(0, 1).select(0, 2); }},
    {"a row", [](const Tensor& x) { return x.select(0, 3); }},
};

TEST_P(Elementwise, OperandsOfEveryForm) {
  const Array values = random_array({6, 6}, 4, 3);
  for (const DType dtype : {kF32, kI32, kF16}) {
    const Array own = rounded(values, dtype);
    const Tensor x = make(own, dtype);
    for (const Form& left : kForms) {
      for (const Form& right : kForms) {
        const Tensor a = left.view(x);
        const Tensor b = right.view(x);
        Shape shape;
        try {
          shape = add(a, b).shape();
        } catch (const InvalidArgument&) {
          continue;  // [6, 3] does not go with [6, 6]
        }
        const Array wide_a = array_of(a.cpu().expand(shape));
        const Array wide_b = array_of(b.cpu().expand(shape));
        for (const ScalarOp& op : reference::scalar_ops()) {
          if (op.arity != 2 || op.rule == Rule::NONE) continue;
          Case(op, dtype).check(apply(op, {a, b}), shape, wide_a, wide_b, wide_a);
          if (HasFatalFailure()) {
            FAIL() << left.name << " with " << right.name;
          }
        }
      }
    }
  }
}

TEST_P(Elementwise, NumbersOnEitherSide) {
  const Array x = rounded(random_array({5}, 4, 9), kF32);
  const Array number({5}, {2.5, 2.5, 2.5, 2.5, 2.5});
  const Tensor t = make(x, kF32);
  for (const ScalarOp& op : reference::scalar_ops()) {
    if (op.arity != 2 || op.rule == Rule::NONE) continue;
    Case(op, kF32).check(apply(op, {t, Scalar(2.5)}), {5}, x, number, x);
    Case(op, kF32).check(apply(op, {Scalar(2.5), t}), {5}, number, x, x);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Elementwise, IntegersWrap) {
  const Tensor a = tensor<int32_t>({2147483647, -2147483647 - 1}).to(device());
  EXPECT_EQ((a + 1).to_vector<int32_t>(), (std::vector<int32_t>{-2147483647 - 1, -2147483647}));
  EXPECT_EQ((-a).to_vector<int32_t>(), (std::vector<int32_t>{-2147483647, -2147483647 - 1}));
  const Tensor b = tensor<int64_t>({9223372036854775807}).to(device());
  EXPECT_EQ((b + 1).item<int64_t>(), -9223372036854775807 - 1);
  EXPECT_EQ((b * 2).item<int64_t>(), -2);
  const Tensor c = tensor<uint8_t>({200, 255}).to(device());
  EXPECT_EQ((c + c).to_vector<uint8_t>(), (std::vector<uint8_t>{144, 254}));
}

TEST_P(Elementwise, Int64KeepsAllPlaces) {
  const Tensor a = tensor<int64_t>({9007199254740993, -9007199254740993}).to(device());
  EXPECT_EQ((a + 2).to_vector<int64_t>(),
            (std::vector<int64_t>{9007199254740995, -9007199254740991}));
  EXPECT_EQ(maximum(a, -a).to_vector<int64_t>(),
            (std::vector<int64_t>{9007199254740993, 9007199254740993}));
}

TEST_P(Elementwise, ConversionsBetweenAllDtypes) {
  const std::vector<double> values = {
      0,     1,         -1,         2.5,          -2.5,  127, 128,  255,          256,
      -129,  1e-3,      65504,      65519,        65520, 1e9, -3e9, 4294967296.0, 1e30,
      -1e30, kInfinity, -kInfinity, std::nan(""), 0.3,   6e-8};
  for (const DType from : kAllDtypes) {
    Array x = rounded(Array({static_cast<int64_t>(values.size())}, values), from);
    const Tensor t = make(x, from);
    for (const DType to : kAllDtypes) {
      const Array got = array_of(t.to(to));
      for (int64_t i = 0; i < x.size(0); ++i) {
        double want = x.at(i);
        if (from == kI64 && want == 0x1p63) continue;  // 2^63 - 1, which no double is
        // i64 to f32 and halves, and f64 to halves, go through f32.
        if ((to == kF16 || to == kBF16) && from != to) want = reference::round_to(FERRY_F32, want);
        want = reference::round_to(static_cast<ferry_dtype>(to), want);
        ASSERT_TRUE(close(got.at(i), want, 0))
            << name(from) << " to " << name(to) << " of " << x.at(i);
      }
    }
  }
}

}  // namespace
}  // namespace ferry::test
