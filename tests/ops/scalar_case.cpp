// SPDX-License-Identifier: Apache-2.0
//
// The type rules and error bounds of scalar ops.
#include "scalar_case.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ferry/abi/program.h"
#include "reference/round.h"

namespace ferry::test {

using reference::Array;
using reference::Rule;
using reference::ScalarOp;

namespace {

double stored(DType dtype, double value) {
  return reference::round_to(static_cast<ferry_dtype>(dtype), value);
}

/// Which of two zeros these give is left to the device.
bool has_free_zeros(const ScalarOp& op) {
  return op.code == FERRY_OP_MAXIMUM || op.code == FERRY_OP_MINIMUM || op.code == FERRY_OP_CLAMP;
}

}  // namespace

std::vector<ScalarOp> scalar_functions(int arity, std::optional<DType> dtype) {
  std::vector<ScalarOp> out;
  for (const ScalarOp& op : reference::scalar_ops()) {
    if (dtype && is_refused(op, *dtype)) continue;
    if (op.rule != Rule::NONE && (arity == 0 || op.arity == arity)) out.push_back(op);
  }
  return out;
}

Tensor apply(const ScalarOp& op, std::vector<detail::Operand> operands) {
  operands.resize(static_cast<size_t>(op.arity), detail::Operand(Scalar(0)));
  return detail::elementwise(op.code, operands);
}

bool is_refused(const ScalarOp& op, DType dtype) {
  if (op.rule == Rule::INT && is_floating_point(dtype)) return true;
  if (dtype != kBool) return false;
  if (op.code == FERRY_OP_BITWISE_LEFT_SHIFT || op.code == FERRY_OP_BITWISE_RIGHT_SHIFT) {
    return true;
  }
  return op.rule == Rule::SAME && op.code != FERRY_OP_ADD && op.code != FERRY_OP_MUL &&
         op.code != FERRY_OP_MAXIMUM && op.code != FERRY_OP_MINIMUM;
}

DType first_dtype(const ScalarOp& op, DType dtype) {
  return op.rule == Rule::WHERE ? kBool : dtype;
}

ScalarCase::ScalarCase(const ScalarOp& op, DType dtype) : op_(op), dtype_(dtype), out_(dtype) {
  if (op.rule == Rule::FLOAT && !is_floating_point(dtype)) out_ = kF32;
  compute_ = out_ == kF64 || out_ == kI64 ? out_ : is_floating_point(out_) ? kF32 : kI32;
  if (op.rule == Rule::BOOL) out_ = kBool;
}

::testing::AssertionResult ScalarCase::is_right(double got, double exact) const {
  const double computed = stored(compute_, exact);
  double error = 0;
  if (compute_ == kF32 && op_.ulp > 0.5) {
    // Results below the smallest normal number may become 0.
    error = op_.ulp * reference::ulp_at(FERRY_F32, exact) + 0x1p-126;
  } else if (compute_ == kF64 && op_.ulp > 0) {
    // The judge computes in f64 too, and is no better.
    error = std::max(op_.ulp, 4.0) * reference::ulp_at(FERRY_F64, exact);
  }
  if (std::isnan(computed) && is_floating_point(out_)) {
    if (std::isnan(got)) return ::testing::AssertionSuccess();
  } else {
    // What may be stored is between the roundings of what may be computed.
    const double least = stored(out_, stored(compute_, computed - error));
    const double most = stored(out_, stored(compute_, computed + error));
    const bool right_zero = exact != 0 || got != 0 || !is_floating_point(out_) ||
                            has_free_zeros(op_) || std::signbit(got) == std::signbit(exact);
    if (got >= least && got <= most && right_zero) return ::testing::AssertionSuccess();
  }
  const auto dtype = static_cast<ferry_dtype>(is_floating_point(out_) ? out_ : kF64);
  const double wanted = stored(out_, computed);
  return ::testing::AssertionFailure()
         << op_.name << " in " << name(compute_) << " gives " << ::testing::PrintToString(got)
         << ", not " << ::testing::PrintToString(wanted) << ": off by "
         << std::fabs(got - wanted) / reference::ulp_at(dtype, wanted) << " ulp of " << name(out_);
}

void ScalarCase::check(const Tensor& got, const Shape& shape, const Array& a, const Array& b,
                       const Array& c) const {
  ASSERT_EQ(got.dtype(), out_) << op_.name;
  ASSERT_EQ(got.shape(), shape) << op_.name;
  const Array values = array_of(got);
  const auto in = [&](double v) { return stored(compute_, v); };
  for (int64_t i = 0; i < static_cast<int64_t>(values.data.size()); ++i) {
    double exact = op_.judge(in(a.at(i)), in(b.at(i)), in(c.at(i)));
    if (op_.code == FERRY_OP_BITWISE_NOT && dtype_ == kBool) exact = 1 - in(a.at(i));
    const auto result = is_right(values.at(i), exact);
    ASSERT_TRUE(result) << "operands of " << name(dtype_) << " at " << i << " of "
                        << to_string(shape) << ": " << a.at(i) << ", " << b.at(i) << ", "
                        << c.at(i);
  }
}

std::vector<double> values_for(DType dtype) {
  if (dtype == kBool) return {0, 1};
  std::vector<double> out = {1, 2, 3, 5, 7, 0, 10, 100};
  if (dtype != kU8) out.insert(out.end(), {-1, -2, -7, -100});
  if (!is_floating_point(dtype)) return out;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  out.insert(out.end(),
             {0.5,   -0.5, 0.1,  -0.3,      1.5,        2.5,          -2.5,   1e-3, -1e-3, 3.7,
              -20.0, 20.0, -0.0, kInfinity, -kInfinity, std::nan(""), 0.9999, 1e-5, 30.0,  -30.0});
  if (dtype == kF16) {
    // The largest, the smallest normal and subnormal numbers.
    out.insert(out.end(), {65504, -65504, 0x1p-14, -0x1p-14, 0x1p-24, -0x1p-24, 0x3p-20});
  } else {
    out.insert(out.end(), {1e-30, -1e-30, 1e30, -1e30, 1e-38, 1e-42, -1e-40, 3e38});
  }
  if (dtype == kF64) out.insert(out.end(), {1e300, -1e300, 1e-300, 1e-310, 5e-324});
  return out;
}

}  // namespace ferry::test
