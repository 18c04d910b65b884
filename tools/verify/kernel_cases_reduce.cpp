// SPDX-License-Identifier: Apache-2.0
//
// Cases of reduce/1 and softmax/1.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernel_case.h"
#include "reference/reduce.h"
#include "reference/round.h"

namespace ferry::verify {
namespace {

constexpr const char* kNames[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The dtype of the result.
ferry_dtype result_of(uint32_t op, ferry_dtype dtype) {
  if (op >= FERRY_REDUCE_ARGMAX) return FERRY_I64;
  if (op >= FERRY_REDUCE_ANY) return FERRY_BOOL;
  const bool widens = op <= FERRY_REDUCE_PROD && !is_floating(dtype);
  return widens ? static_cast<ferry_dtype>(FERRY_I64) : dtype;
}

Array magnitudes(Array x) {
  for (double& v : x.data) v = std::fabs(v);
  return x;
}

void reduction(uint32_t op, Operand x, uint32_t axes, uint64_t dtypes, const std::string& what,
               const Sink& sink) {
  const ferry_dtype dtype = x.dtype;
  const ferry_dtype out = result_of(op, dtype);
  if (!has(dtypes, out)) return;
  KernelCase c;
  c.name = fmt::format("{} of {}, {}, axes {:#x}", kNames[op], dtype_name(dtype), what, axes);
  std::vector<int64_t> shape = x.values.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((axes >> d & 1) != 0) shape[d] = 1;
  }
  c.out = {{out, shape}};
  c.set_attr(ferry_reduce_attr{sizeof(ferry_reduce_attr), op, axes, 0});
  const auto n = static_cast<double>(x.values.data.size());
  double relative = 0;
  // Not growing with the length, as the contract has it; f64 has no wider type.
  if (op <= FERRY_REDUCE_PROD && is_floating(dtype)) {
    relative = dtype == FERRY_F64 ? (n + 2) * 0x1p-53 : 64 * 0x1p-24;
  }
  c.judge = [=, values = x.values](const std::vector<Array>& got) {
    const auto code = static_cast<ferry_reduce_op>(op);
    const Array want = reference::reduce(code, values, axes);
    // A product's error is relative to itself.
    const Array size =
        op == FERRY_REDUCE_SUM ? reference::reduce(code, magnitudes(values), axes) : want;
    return compare(out, got[0], want, size, relative);
  };
  c.in = {std::move(x)};
  sink(c);
}

/// Ordinary values; for products such whose product is exact.
Operand operand_for(uint32_t op, std::vector<int64_t> shape, ferry_dtype dtype, uint64_t seed) {
  Operand x = random_operand(std::move(shape), dtype, is_floating(dtype) ? 4 : 9.4, seed);
  if (op == FERRY_REDUCE_PROD) {
    for (size_t i = 0; i < x.values.data.size(); ++i) {
      const double factor = i % 7 == 3 && i < 40 ? 3 : i % 2 == 0 || dtype == FERRY_U8 ? 1 : -1;
      x.values.data[i] = reference::round_to(dtype, factor);
    }
  } else if (op == FERRY_REDUCE_ANY || op == FERRY_REDUCE_ALL) {
    const bool any = op == FERRY_REDUCE_ANY;
    for (double& v : x.values.data) v = any ? 0 : 1;
    if (seed % 2 == 0) x.values.data.back() = any ? 1 : 0;
  }
  return x;
}

void special_reductions(uint32_t op, ferry_dtype dtype, uint64_t dtypes, const Sink& sink) {
  if (!is_floating(dtype)) return;
  struct Special {
    const char* what;
    std::vector<std::pair<size_t, double>> values;
  };
  for (const Special& special :
       {Special{"a NaN in the middle", {{20, kNan}}}, Special{"a NaN at the end", {{36, kNan}}},
        Special{"a NaN at the begin", {{0, kNan}}}, Special{"an infinity", {{5, kInfinity}}},
        Special{"a negative infinity", {{5, -kInfinity}}},
        Special{"both infinities", {{5, kInfinity}, {30, -kInfinity}}},
        Special{"two NaN", {{30, kNan}, {7, kNan}}},
        Special{"the largest twice", {{11, 5}, {29, 5}}}}) {
    Operand x = operand_for(op, {37}, dtype, 3);
    for (const auto& [at, value] : special.values) x.values.data[at] = value;
    reduction(op, std::move(x), 1, dtypes, special.what, sink);
  }
}

}  // namespace

void reduce_cases(ferry_dtype dtype, uint64_t dtypes, Flavour flavour, const Sink& sink) {
  for (uint32_t op = FERRY_REDUCE_SUM; op <= FERRY_REDUCE_ARGMIN; ++op) {
    const bool counts = op == FERRY_REDUCE_SUM || op == FERRY_REDUCE_ANY || op == FERRY_REDUCE_ALL;
    if (dtype == FERRY_BOOL && !counts) continue;
    if (flavour == Flavour::kSpecial) {
      special_reductions(op, dtype, dtypes, sink);
      continue;
    }
    const auto add = [&](std::vector<int64_t> shape, uint32_t axes) {
      std::string what = fmt::format("{} elements", Array::count(shape));
      const auto seed = static_cast<uint64_t>(Array::count(shape)) + axes;
      reduction(op, operand_for(op, std::move(shape), dtype, seed), axes, dtypes, what, sink);
    };
    for (const int64_t n : sizes_of(flavour)) {
      add({n}, 1);
      if (n <= 255) add({3, n}, 2), add({n, 3}, 1);
    }
    add({2, 3, 5}, 2);
    if (op < FERRY_REDUCE_ARGMAX) add({2, 3, 5}, 5), add({4, 33}, 3);
  }
  const bool accumulates = dtype == FERRY_F32 || dtype == FERRY_BF16;
  if (flavour != Flavour::kSizes || !accumulates) return;
  // Added one by one in f32, the sum of these is off in the second place.
  Operand tenths{dtype, Array({300007}), 0};
  for (double& v : tenths.values.data) v = reference::round_to(dtype, 0.1);
  reduction(FERRY_REDUCE_SUM, std::move(tenths), 1, dtypes, "300007 elements of 0.1", sink);
}

void softmax_cases(ferry_dtype dtype, uint64_t, Flavour flavour, const Sink& sink) {
  const auto add = [&](Operand x, size_t axis, const std::string& what) {
    for (const bool logarithm : {false, true}) {
      KernelCase c;
      c.name = fmt::format("{}softmax of {}, {}, axis {}", logarithm ? "log_" : "",
                           dtype_name(dtype), what, axis);
      c.in = {x};
      c.out = {{dtype, x.values.shape}};
      c.set_attr(ferry_softmax_attr{sizeof(ferry_softmax_attr), static_cast<uint32_t>(axis),
                                    logarithm ? 1u : 0u, 0});
      c.judge = [=, values = x.values](const std::vector<Array>& got) {
        const Array want = reference::softmax(values, axis, logarithm);
        const double error = 64 * unit_of(dtype);
        return logarithm ? compare(dtype, got[0], want, want, error / 8, error)
                         : compare(dtype, got[0], want, want, error);
      };
      sink(c);
    }
  };
  if (flavour == Flavour::kSpecial) {
    Operand large{dtype, Array({4}, {1000, 1000, -kInfinity, 999}), 0};
    for (double& v : large.values.data) v = reference::round_to(dtype, v);
    add(std::move(large), 0, "large values and a negative infinity");
    add({dtype, Array({3}, {-kInfinity, -kInfinity, -kInfinity}), 0}, 0, "all negative infinity");
    Operand bad = random_operand({3, 5}, dtype, 4, 3);
    bad.values.data[7] = kNan;
    add(std::move(bad), 1, "a NaN in one row");
    return;
  }
  for (const int64_t n : sizes_of(flavour)) {
    add(random_operand({2, n}, dtype, 8, static_cast<uint64_t>(n)), 1, fmt::format("2 x {}", n));
    if (n <= 65) {
      add(random_operand({n, 3}, dtype, 8, static_cast<uint64_t>(n)), 0, fmt::format("{} x 3", n));
    }
  }
  add(random_operand({3, 17, 5}, dtype, 8, 1), 1, "3 x 17 x 5");
}

}  // namespace ferry::verify
