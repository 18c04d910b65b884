// SPDX-License-Identifier: Apache-2.0
//
// Scalar ops on operands of every form: views, broadcast shapes, numbers,
// dtypes that differ.
#include "common.h"
#include "scalar_case.h"

namespace ferry::test {
namespace {

using reference::Array;
using reference::Rule;
using reference::ScalarOp;

class Forms : public OnDevice {
 protected:
  /// All two-operand ops of `a` and `b`, against copies of their elements.
  void check_pair(const Tensor& a, const Tensor& b, const Shape& shape, DType dtype) const {
    const Array wide_a = array_of(a.cpu().expand(shape));
    const Array wide_b = array_of(b.cpu().expand(shape));
    for (const ScalarOp& op : scalar_functions(2, dtype)) {
      ScalarCase(op, dtype).check(apply(op, {a, b}), shape, wide_a, wide_b, wide_a);
      if (HasFatalFailure()) return;
    }
  }
};
FERRY_ON_EVERY_DEVICE(Forms);

struct Form {
  const char* name;
  Tensor (*view)(const Tensor&);
};
constexpr Form kForms[] = {
    {"as it is", [](const Tensor& x) { return x; }},
    {"transposed", [](const Tensor& x) { return x.transpose(0, 1); }},
    {"every second", [](const Tensor& x) { return x.slice(1, 0, 6, 2); }},
    {"every second row",
     [](const Tensor& x) {
       return x.slice(0, 1, 6, 2).narrow(0, 0, 1).expand({6, 6});
     }},
    {"one row repeated",
     [](const Tensor& x) {
       return x.narrow(0, 2, 1).expand({6, 6});
     }},
    {"one column repeated",
     [](const Tensor& x) {
       return x.narrow(1, 1, 1).expand({6, 6});
     }},
    {"one element repeated",
     [](const Tensor& x) {
       return x.narrow(0, 4, 1).narrow(1, 3, 1).expand({6, 6});
     }},
    {"0-dim", [](const Tensor& x) { return x.select(0, 1).select(0, 2); }},
    {"a row", [](const Tensor& x) { return x.select(0, 3); }},
    {"a column", [](const Tensor& x) { return x.narrow(1, 5, 1); }},
};

TEST_P(Forms, ViewsOfAMatrix) {
  const Array values = random_array({6, 6}, 4, 3);
  for (const DType dtype : {kF32, kI32, kF16, kI64, kU8}) {
    const Tensor x = make(rounded(values, dtype), dtype);
    int pairs = 0;
    for (const Form& left : kForms) {
      for (const Form& right : kForms) {
        const Tensor a = left.view(x);
        const Tensor b = right.view(x);
        // Those of size 3 go with themselves and with what broadcasts.
        const bool narrow_a = a.dim() > 0 && a.size(-1) == 3;
        const bool narrow_b = b.dim() > 0 && b.size(-1) == 3;
        const bool narrow = narrow_a || narrow_b;
        const Tensor& other = narrow_a ? b : a;
        if (narrow && narrow_a != narrow_b && other.dim() > 0 && other.size(-1) != 1) continue;
        Shape shape;
        if (a.dim() == 2 || b.dim() == 2) shape.push_back(6);
        if (a.dim() > 0 || b.dim() > 0) {
          const bool column =
              (a.dim() == 0 || a.size(-1) == 1) && (b.dim() == 0 || b.size(-1) == 1);
          shape.push_back(narrow ? 3 : column ? 1 : 6);
        }
        check_pair(a, b, shape, dtype);
        ASSERT_FALSE(HasFatalFailure()) << left.name << " with " << right.name;
        ++pairs;
      }
    }
    EXPECT_GT(pairs, 80);
  }
}

TEST_P(Forms, BroadcastInSeveralDimensions) {
  const struct {
    Shape a, b, out;
  } shapes[] = {
      {{4, 1, 5}, {3, 1}, {4, 3, 5}},
      {{2, 1, 3, 1}, {4, 1, 5}, {2, 4, 3, 5}},
      {{1}, {2, 3, 4}, {2, 3, 4}},
      {{}, {2, 1, 2}, {2, 1, 2}},
      {{1, 1, 1, 1, 1, 1, 1, 7}, {2, 1, 2, 1, 2, 1, 2, 1}, {2, 1, 2, 1, 2, 1, 2, 7}},
      {{0, 3}, {1, 3}, {0, 3}},
      {{1}, {0}, {0}},
      {{33, 1}, {1, 65}, {33, 65}},
  };
  for (const auto& [a, b, out] : shapes) {
    const Tensor x = make(rounded(random_array(a, 4, 1), kF32), kF32);
    const Tensor y = make(rounded(random_array(b, 4, 2), kF32), kF32);
    check_pair(x, y, out, kF32);
    check_pair(y, x, out, kF32);
    ASSERT_FALSE(HasFatalFailure()) << to_string(a) << " with " << to_string(b);
  }
}

TEST_P(Forms, PermutedDimensions) {
  const Tensor x = make(rounded(random_array({3, 4, 5, 2}, 4, 5), kF32), kF32);
  const Tensor y = make(rounded(random_array({5, 2, 4, 3}, 4, 6), kF32), kF32);
  check_pair(x.permute({2, 3, 1, 0}), y, {5, 2, 4, 3}, kF32);
  check_pair(x, y.permute({3, 2, 0, 1}), {3, 4, 5, 2}, kF32);
  check_pair(x.permute({3, 0, 2, 1}).slice(2, 1, 5, 3), y.permute({1, 3, 0, 2}).slice(2, 0, 4, 3),
             {2, 3, 2, 4}, kF32);
}

TEST_P(Forms, OneOperandOpsOfViews) {
  const Tensor x = make(rounded(random_array({6, 6}, 4, 7), kF32), kF32);
  for (const Form& form : kForms) {
    const Tensor view = form.view(x);
    const Array values = array_of(view);
    for (const ScalarOp& op : scalar_functions(1, kF32)) {
      ScalarCase(op, kF32).check(apply(op, {view}), view.shape(), values, values, values);
      ASSERT_FALSE(HasFatalFailure()) << form.name;
    }
  }
}

TEST_P(Forms, NumbersOnEitherSide) {
  for (const DType dtype : kAllDtypes) {
    if (dtype == kBool) continue;  // a number would raise its kind
    const double value = is_floating_point(dtype) ? 2.5 : 2;
    const Scalar number = is_floating_point(dtype) ? Scalar(2.5) : Scalar(2);
    const Array x = rounded(random_array({19}, 4, 9), dtype);
    const Array numbers({19}, std::vector<double>(19, value));
    const Tensor t = make(x, dtype);
    for (const ScalarOp& op : scalar_functions(2, dtype)) {
      ScalarCase(op, dtype).check(apply(op, {t, number}), {19}, x, numbers, x);
      ScalarCase(op, dtype).check(apply(op, {number, t}), {19}, numbers, x, x);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Forms, NumbersAmongThreeOperands) {
  const Array x = rounded(random_array({2, 9}, 4, 10), kF32);
  const Array y = rounded(random_array({2, 9}, 4, 11), kF32);
  const Array numbers({2, 9}, std::vector<double>(18, 0.5));
  const Array row({2, 9}, std::vector<double>(18, 1.5));
  const Tensor ty = make(y, kF32);
  const Tensor broadcast = full({1, 9}, 1.5, TensorOptions(device()));
  for (const ScalarOp& op : scalar_functions(3)) {
    const DType first = first_dtype(op, kF32);
    const Array a = rounded(x, first);
    const Tensor ta = make(a, first);
    const ScalarCase expected(op, kF32);
    expected.check(apply(op, {ta, Scalar(0.5), ty}), {2, 9}, a, numbers, y);
    expected.check(apply(op, {ta, ty, Scalar(0.5)}), {2, 9}, a, y, numbers);
    expected.check(apply(op, {ta, broadcast, ty.t().t()}), {2, 9}, a, row, y);
    expected.check(apply(op, {ta, Scalar(0.5), broadcast}), {2, 9}, a, numbers, row);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Forms, OperandsOfTwoDtypes) {
  const Array values = random_array({13}, 5, 12);
  for (const DType left : kAllDtypes) {
    for (const DType right : kAllDtypes) {
      const Array a = rounded(values, left);
      const Array b = rounded(random_array({13}, 5, 13), right);
      const Tensor ta = make(a, left);
      const Tensor tb = make(b, right);
      const DType common = promote_types(left, right);
      for (const ScalarOp& op : scalar_functions(2)) {
        if (is_refused(op, common)) continue;
        ScalarCase(op, common).check(apply(op, {ta, tb}), {13}, a, b, a);
        ASSERT_FALSE(HasFatalFailure()) << name(left) << " with " << name(right);
      }
      const Tensor truth = ta != 0;
      const Array chosen = array_of(truth);
      for (const ScalarOp& op : scalar_functions(3)) {
        if (op.rule != Rule::WHERE) continue;
        ScalarCase(op, common).check(apply(op, {truth, ta, tb}), {13}, chosen, a, b);
        ASSERT_FALSE(HasFatalFailure()) << name(left) << " with " << name(right);
      }
    }
  }
}

TEST_P(Forms, ResultsAreFresh) {
  const Tensor x = make(rounded(random_array({6, 6}, 4, 14), kF32), kF32);
  const Array before = array_of(x);
  for (const Tensor& y : {x + 0, x * x, relu(x), maximum(x, x), where(x == x, x, x)}) {
    EXPECT_FALSE(y.shares_storage(x));
    y.fill_(0);
  }
  EXPECT_EQ(array_of(x).data, before.data);
}

}  // namespace
}  // namespace ferry::test
