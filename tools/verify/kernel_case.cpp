// SPDX-License-Identifier: Apache-2.0
//
// Programs, random operands and comparing.
#include "kernel_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/round.h"
#include "reference/scalar.h"

namespace ferry::verify {

uint16_t Program::constant(double value) {
  const double held = reference::round_to(compute_, value);
  ferry_constant c{};
  if (is_floating(compute_)) {
    c.f = held;
  } else {
    c.i = static_cast<int64_t>(held);
  }
  constants_.push_back(c);
  values_.push_back(held);
  return static_cast<uint16_t>(n_in_ + constants_.size() - 1);
}

uint16_t Program::then(uint16_t op, uint16_t a, uint16_t b, uint16_t c) {
  insns_.push_back({op, 0, {a, b, c, 0}, 0});
  return static_cast<uint16_t>(n_in_ + constants_.size() + insns_.size() - 1);
}

ferry_program Program::table() const {
  return {sizeof(ferry_program),
          compute_,
          n_in_,
          static_cast<uint32_t>(constants_.size()),
          static_cast<uint32_t>(insns_.size()),
          static_cast<uint32_t>(out_.size()),
          constants_.data(),
          insns_.data(),
          out_.data()};
}

std::vector<double> Program::evaluate(const std::vector<double>& in, int64_t number) const {
  std::vector<double> r;
  for (const double v : in) r.push_back(reference::round_to(compute_, v));
  r.insert(r.end(), values_.begin(), values_.end());
  for (const ferry_insn& insn : insns_) {
    const reference::ScalarOp& op = reference::scalar_ops()[insn.op];
    const double value = insn.op == FERRY_OP_INDEX
                             ? static_cast<double>(number)
                             : op.judge(r[insn.arg[0]], r[insn.arg[1]], r[insn.arg[2]]);
    r.push_back(reference::round_to(compute_, value));
  }
  std::vector<double> out;
  for (const uint16_t reg : out_) out.push_back(r[reg]);
  return out;
}

const char* dtype_name(ferry_dtype dtype) {
  constexpr const char* kNames[] = {"bool", "u8",  "i8",   "i16", "i32",
                                    "i64",  "f16", "bf16", "f32", "f64"};
  return dtype < std::size(kNames) ? kNames[dtype] : "an unknown dtype";
}

uint64_t item_size(ferry_dtype dtype) {
  constexpr uint64_t kSizes[] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[dtype];
}

bool is_floating(ferry_dtype dtype) { return dtype >= FERRY_F16; }

ferry_dtype compute_of(ferry_dtype dtype) {
  if (dtype == FERRY_F64 || dtype == FERRY_I64) return dtype;
  return is_floating(dtype) ? FERRY_F32 : FERRY_I32;
}

double unit_of(ferry_dtype dtype) { return dtype == FERRY_F64 ? 0x1p-53 : 0x1p-24; }

bool has(uint64_t dtypes, ferry_dtype dtype) { return (dtypes & FERRY_DTYPE_BIT(dtype)) != 0; }

const std::vector<int64_t>& sizes_of(Flavour flavour) {
  static const std::vector<int64_t> all = {1,  2,  3,  7,  8,   15,  16,   17,
                                           31, 33, 63, 65, 127, 255, 1000, 4097};
  static const std::vector<int64_t> few = {1, 7, 65, 1000};
  return flavour == Flavour::kSizes ? all : few;
}

Operand random_operand(std::vector<int64_t> shape, ferry_dtype dtype, double limit, uint64_t seed) {
  Operand out{dtype, Array(std::move(shape)), 0};
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  const bool positive = dtype == FERRY_U8 || dtype == FERRY_BOOL;
  for (double& v : out.values.data) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t mixed = state ^ (state >> 29);
    mixed = (mixed * 0xbf58476d1ce4e5b9u) ^ (mixed >> 32);
    v = (static_cast<double>(mixed >> 11) * 0x1p-52 - 1) * limit;
    if (!is_floating(dtype)) v = std::rint(v);
    if (positive) v = std::fabs(v);
    v = reference::round_to(dtype, v);
  }
  return out;
}

std::string compare(ferry_dtype dtype, const Array& got, const Array& want, const Array& size,
                    double relative, double absolute) {
  for (int64_t i = 0; i < static_cast<int64_t>(want.data.size()); ++i) {
    const double expected = reference::round_to(dtype, want.at(i));
    double tolerance = relative * std::fabs(size.at(i)) + absolute;
    if (is_floating(dtype) && tolerance > 0) tolerance += reference::ulp_at(dtype, want.at(i));
    const double value = got.at(i);
    const bool same = value == expected || (std::isnan(value) && std::isnan(expected)) ||
                      std::fabs(value - expected) <= tolerance;
    if (same) continue;
    if (!(tolerance > 0)) return fmt::format("element {} is {}, not {}", i, value, expected);
    return fmt::format("element {} is {}, not {} +- {:.3g}", i, value, expected, tolerance);
  }
  return "";
}

}  // namespace ferry::verify
