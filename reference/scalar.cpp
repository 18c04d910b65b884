// SPDX-License-Identifier: Apache-2.0
//
// The judge's column of the op list.
#include "reference/scalar.h"

#include <cmath>

namespace ferry::reference {
namespace {

// The words of the judge's column that <cmath> does not have. Integers come as
// floating numbers that hold them exactly.

/// With the sign of b.
template <class F>
F judge_remainder(F a, F b) {
  const F rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

template <class F, class Bits>
F on_bits(F a, F b, Bits&& bits) {
  const auto fits = [](F v) { return v >= F(-0x1p63) && v < F(0x1p63); };
  if (!fits(a) || !fits(b)) return a;
  return static_cast<F>(bits(static_cast<int64_t>(a), static_cast<int64_t>(b)));
}
template <class F>
F judge_and(F a, F b) {
  return on_bits(a, b, [](int64_t x, int64_t y) { return x & y; });
}
template <class F>
F judge_or(F a, F b) {
  return on_bits(a, b, [](int64_t x, int64_t y) { return x | y; });
}
template <class F>
F judge_xor(F a, F b) {
  return on_bits(a, b, [](int64_t x, int64_t y) { return x ^ y; });
}
template <class F>
F judge_not(F a) {
  return -a - 1;
}
template <class F>
F judge_shift_left(F a, F b) {
  return on_bits(a, b, [](int64_t x, int64_t y) {
    return y < 0 || y > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(x) << y);
  });
}
template <class F>
F judge_shift_right(F a, F b) {
  return on_bits(a, b, [](int64_t x, int64_t y) { return x >> (y < 0 || y > 63 ? 63 : y); });
}

}  // namespace

std::span<const ScalarOp> scalar_ops() {
  static constexpr ScalarOp kOps[] = {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp)             \
  {code,                                                                                 \
   #name,                                                                                \
   arity,                                                                                \
   Rule::rule,                                                                           \
   ulp,                                                                                  \
   []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) { \
     return static_cast<double>(judge);                                                  \
   },                                                                                    \
   []([[maybe_unused]] long double a, [[maybe_unused]] long double b,                    \
      [[maybe_unused]] long double c) { return static_cast<long double>(judge); }},
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
  };
  return kOps;
}

}  // namespace ferry::reference
