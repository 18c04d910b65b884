// SPDX-License-Identifier: Apache-2.0
//
// Cases of map/1: every line of the op list as a program of one step, fused
// programs, and conversions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernel_case.h"
#include "reference/round.h"
#include "reference/scalar.h"

namespace ferry::verify {
namespace {

using reference::round_to;
using reference::Rule;
using reference::ScalarOp;

/// An op on operands of one dtype: what it computes in and stores to.
struct Step {
  const ScalarOp& op;
  ferry_dtype dtype, truth, compute, out;

  Step(const ScalarOp& scalar_op, ferry_dtype operands, uint64_t dtypes)
      : op(scalar_op), dtype(operands), out(operands) {
    // Where a kernel has no bool, truth is 0 or 1 of the dtype.
    truth = has(dtypes, FERRY_BOOL) ? static_cast<ferry_dtype>(FERRY_BOOL) : dtype;
    if (op.rule == Rule::FLOAT && !is_floating(dtype)) out = FERRY_F32;
    compute = compute_of(out);
    if (op.rule == Rule::BOOL) out = truth;
  }
  /// What the host refuses, or asks in another way, before a kernel sees it.
  bool is_possible(uint64_t dtypes) const {
    if (!has(dtypes, out) || (op.rule == Rule::INT && is_floating(dtype))) return false;
    if (dtype != FERRY_BOOL) return true;
    if (op.rule == Rule::INT) {
      return op.code != FERRY_OP_BITWISE_NOT && op.code != FERRY_OP_BITWISE_LEFT_SHIFT &&
             op.code != FERRY_OP_BITWISE_RIGHT_SHIFT;
    }
    return op.rule != Rule::SAME || op.code == FERRY_OP_ADD || op.code == FERRY_OP_MUL ||
           op.code == FERRY_OP_MAXIMUM || op.code == FERRY_OP_MINIMUM;
  }
  double stored(double value) const { return round_to(out, round_to(compute, value)); }
};

/// Whether `got` may come of an op whose exact result is `exact`.
bool is_right(const Step& s, double got, double exact) {
  const double computed = round_to(s.compute, exact);
  double error = 0;
  if (s.compute == FERRY_F32 && s.op.ulp > 0.5) {
    // Results below the smallest normal number may become 0.
    error = s.op.ulp * reference::ulp_at(FERRY_F32, exact) + 0x1p-126;
  } else if (s.compute == FERRY_F64 && s.op.ulp > 0) {
    // The judge computes in f64 too, and is no better.
    error = std::max(s.op.ulp, 4.0) * reference::ulp_at(FERRY_F64, exact);
  }
  if (std::isnan(computed) && is_floating(s.out)) return std::isnan(got);
  // What may be stored is between the roundings of what may be computed.
  const double least = s.stored(computed - error);
  const double most = s.stored(computed + error);
  const bool free_zeros =
      s.op.code == FERRY_OP_MAXIMUM || s.op.code == FERRY_OP_MINIMUM || s.op.code == FERRY_OP_CLAMP;
  const bool right_zero = exact != 0 || got != 0 || !is_floating(s.out) || free_zeros ||
                          std::signbit(got) == std::signbit(exact);
  return got >= least && got <= most && right_zero;
}

std::vector<double> values_for(ferry_dtype dtype, Flavour flavour) {
  if (dtype == FERRY_BOOL) return {0, 1, 1};
  std::vector<double> out = {1, 2, 3, 5, 7, 0, 10, 100};
  if (dtype != FERRY_U8) out.insert(out.end(), {-1, -2, -7, -100});
  if (!is_floating(dtype)) {
    if (flavour == Flavour::kSpecial) {
      const double most = std::ldexp(1.0, static_cast<int>(8 * item_size(dtype)) - 1) - 1;
      if (dtype == FERRY_U8)
        out.insert(out.end(), {255, 254, 128});
      else if (dtype != FERRY_I64)
        out.insert(out.end(), {most, -most, -most - 1});
    }
    return out;
  }
  out.insert(out.end(), {0.5, -0.5, 0.1,  -0.3,   1.5, 2.5, -2.5, 1e-3, -1e-3, 3.7,
                         -20, 20,   -0.0, 0.9999, 30,  -30, 0.25, 1.75, -3,    12.5});
  if (flavour != Flavour::kSpecial) return out;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  out.insert(out.end(), {kInfinity, -kInfinity, std::nan("")});
  if (dtype == FERRY_F16) {
    out.insert(out.end(), {65504, -65504, 0x1p-14, -0x1p-14});
  } else {
    out.insert(out.end(), {1e-30, -1e-30, 1e30, -1e30, 3e38});
  }
  return out;
}

Operand cycle(const std::vector<double>& values, std::vector<int64_t> shape, size_t from,
              size_t stride, ferry_dtype dtype) {
  Operand out{dtype, Array(std::move(shape)), 0};
  for (size_t i = 0; i < out.values.data.size(); ++i) {
    out.values.data[i] = round_to(dtype, values[(from + i * stride) % values.size()]);
  }
  return out;
}

/// Integers whose results a double may not hold: nothing where a long double
/// may not either, or the result is no whole number.
std::optional<double> exact_integer(const Step& s, const double (&arg)[3]) {
  const long double limit = std::ldexp(1.0L, std::numeric_limits<long double>::digits);
  const long double exact = s.op.wide(arg[0], arg[1], arg[2]);
  const bool whole = std::isfinite(exact) && std::trunc(exact) == exact;
  if (!whole || std::fabs(exact) >= std::min(limit, 0x1p64L)) return std::nullopt;
  return round_to(s.out, static_cast<double>(reference::wrap_to(s.compute, exact)));
}

std::string judge_step(const Step& s, const std::vector<Operand>& in, const Array& got) {
  for (int64_t i = 0; i < static_cast<int64_t>(got.data.size()); ++i) {
    double arg[3] = {};
    for (size_t k = 0; k < in.size(); ++k) arg[k] = round_to(s.compute, in[k].values.at(i));
    const double exact =
        s.op.code == FERRY_OP_INDEX ? static_cast<double>(i) : s.op.judge(arg[0], arg[1], arg[2]);
    double want = s.stored(exact);
    bool right = is_right(s, got.at(i), exact);
    if (!is_floating(s.compute) && s.op.code != FERRY_OP_INDEX) {
      if (const auto whole = exact_integer(s, arg)) right = got.at(i) == (want = *whole);
    }
    if (right) continue;
    return fmt::format("element {} is {}, not {}; the operands are {}, {}, {}", i, got.at(i), want,
                       arg[0], arg[1], arg[2]);
  }
  return "";
}

void one_step(const Step& s, std::vector<int64_t> shape, Flavour flavour, const Sink& sink) {
  const std::vector<double> values = values_for(s.dtype, flavour);
  KernelCase c;
  c.name =
      fmt::format("{} of {}, {} elements", s.op.name, dtype_name(s.dtype), Array::count(shape));
  Program program(s.compute, static_cast<uint32_t>(s.op.arity));
  for (int k = 0; k < s.op.arity; ++k) {
    const bool condition = k == 0 && s.op.rule == Rule::WHERE;
    // Strides that bring each value together with each other one.
    c.in.push_back(condition
                       ? cycle({1, 0, 0, 1, 1}, shape, 0, 1, s.truth)
                       : cycle(values, shape, size_t{3} * static_cast<size_t>(k),
                               k == 0 ? 1 : values.size() + size_t{2} * static_cast<size_t>(k) - 1,
                               s.dtype));
  }
  program.output(program.then(s.op.code, 0, s.op.arity > 1 ? 1 : 0, s.op.arity > 2 ? 2 : 0));
  c.map = program;
  c.out = {{s.out, shape}};
  c.judge = [s, in = c.in](const std::vector<Array>& got) { return judge_step(s, in, got[0]); };
  sink(c);
}

/// A program whose steps are exact on small whole numbers.
void fused(const std::string& what, const Program& program, size_t n_in, size_t n_out,
           std::vector<int64_t> shape, ferry_dtype dtype, const Sink& sink) {
  KernelCase c;
  c.name = fmt::format("{} of {}, {} elements", what, dtype_name(dtype), Array::count(shape));
  for (size_t k = 0; k < n_in; ++k) {
    c.in.push_back(random_operand(shape, dtype, 8.4, k + 11));
    if (k == 1 && shape.size() > 1) {
      // One row for all, through a stride of 0.
      c.in[k].repeated = 1;
      const size_t row = c.in[k].values.data.size() / static_cast<size_t>(shape[0]);
      for (size_t i = row; i < c.in[k].values.data.size(); ++i) {
        c.in[k].values.data[i] = c.in[k].values.data[i % row];
      }
    }
  }
  for (size_t k = 0; k < n_out; ++k) c.out.push_back({dtype, shape});
  c.map = program;
  c.judge = [program, in = c.in, dtype, n_out](const std::vector<Array>& got) -> std::string {
    for (int64_t i = 0; i < static_cast<int64_t>(got[0].data.size()); ++i) {
      std::vector<double> arg;
      for (const Operand& operand : in) arg.push_back(operand.values.at(i));
      const std::vector<double> want = program.evaluate(arg, i);
      for (size_t k = 0; k < n_out; ++k) {
        const double right = round_to(dtype, want[k]);
        if (got[k].at(i) == right) continue;
        return fmt::format("element {} of output {} is {}, not {}", i, k, got[k].at(i), right);
      }
    }
    return "";
  };
  sink(c);
}

void fused_cases(ferry_dtype dtype, std::vector<int64_t> shape, const Sink& sink) {
  const ferry_dtype compute = compute_of(dtype);
  Program linear(compute, 2);
  const uint16_t two = linear.constant(2);
  linear.output(
      linear.then(FERRY_OP_RELU, linear.then(FERRY_OP_ADD, linear.then(FERRY_OP_MUL, 0, two), 1)));
  fused("relu(a * 2 + b)", linear, 2, 1, shape, dtype, sink);
  Program both(compute, 2);
  const uint16_t sum = both.then(FERRY_OP_ADD, 0, 1);
  both.output(both.then(FERRY_OP_SUB, 0, 1));
  both.output(sum);
  fused("a - b and a + b in two outputs", both, 2, 2, shape, dtype, sink);
  Program chain(compute, 2);
  uint16_t last = 0;
  for (int i = 0; i < 10; ++i) {
    last = chain.then(FERRY_OP_MAXIMUM, chain.then(FERRY_OP_ADD, last, 0), 1);
  }
  chain.output(last);
  fused("a chain of 20 steps", chain, 2, 1, shape, dtype, sink);
  Program choice(compute, 2);
  const uint16_t less = choice.then(FERRY_OP_LT, 0, 1);
  choice.output(choice.then(FERRY_OP_WHERE, less, 0, choice.then(FERRY_OP_INDEX)));
  fused("a < b ? a : index", choice, 2, 1, shape, dtype, sink);
  Program constant(compute, 0);
  constant.output(constant.constant(3));
  fused("the constant 3", constant, 0, 1, shape, dtype, sink);
}

/// From each other dtype; on the border what fits no width, and NaN.
void conversions(ferry_dtype to, uint64_t dtypes, Flavour flavour, const Sink& sink) {
  for (ferry_dtype from = FERRY_BOOL; from <= FERRY_F64; ++from) {
    if (from == to || !has(dtypes, from)) continue;
    KernelCase c;
    c.name = fmt::format("conversion of {} to {}", dtype_name(from), dtype_name(to));
    std::vector<double> values = values_for(from, flavour);
    if (is_floating(from) && flavour == Flavour::kSpecial) {
      values.insert(values.end(), {255.5, 256, -129, 40000, -40000});
    }
    c.in = {cycle(values, {67}, 0, 1, from)};
    c.out = {{to, {67}}};
    Program program(compute_of(from), 1);
    program.output(0);
    c.map = program;
    c.judge = [in = c.in[0].values, to](const std::vector<Array>& got) {
      return compare(to, got[0], in, in, 0);
    };
    sink(c);
  }
}

}  // namespace

void map_cases(ferry_dtype dtype, uint64_t dtypes, Flavour flavour, const Sink& sink) {
  for (const ScalarOp& op : reference::scalar_ops()) {
    const Step s(op, dtype, dtypes);
    if (!s.is_possible(dtypes)) continue;
    if (flavour == Flavour::kFew && op.code % 6 != 2) continue;
    if (flavour == Flavour::kSpecial) {
      one_step(s, {1579}, flavour, sink);
    } else {
      for (const int64_t n : sizes_of(flavour)) one_step(s, {n}, flavour, sink);
      one_step(s, {3, 5, 4}, flavour, sink);
    }
  }
  one_step(Step(reference::scalar_ops()[FERRY_OP_ADD], dtype, dtypes), {}, flavour, sink);
  conversions(dtype, dtypes, flavour, sink);
  if (flavour == Flavour::kSpecial) return;
  for (const int64_t n : {1, 17, 1000}) fused_cases(dtype, {n}, sink);
  fused_cases(dtype, {3, 5, 7}, sink);
}

}  // namespace ferry::verify
