// SPDX-License-Identifier: Apache-2.0
//
// exp, log and their kin for float as straight code that the compiler
// vectorises: computed in double by short series, so that the float result is
// within one unit in the last place of the true value.
#ifndef FERRY_CPU_ISA_FAST_MATH_H
#define FERRY_CPU_ISA_FAST_MATH_H

#include "isa/isa_text.h"

#include <bit>
#include <cstdint>

#include "ferry/sdk/scalar_math.h"

namespace ferry::cpu::FERRY_CPU_ISA::words {

// What has no loop of its own here, and all of it for double and integers.
using namespace sdk::math;  // NOLINT(google-build-using-namespace)
#define FERRY_CPU_INLINE [[gnu::always_inline]] inline

FERRY_CPU_INLINE double select(bool condition, double yes, double no) {
  return condition ? yes : no;
}

/// exp(y) for |y| <= ln(2)/2 by its series; relative error below 2^-36.
FERRY_CPU_INLINE double exp_series(double y) {
  double p = 1.0 / 362880;
  p = p * y + 1.0 / 40320;
  p = p * y + 1.0 / 5040;
  p = p * y + 1.0 / 720;
  p = p * y + 1.0 / 120;
  p = p * y + 1.0 / 24;
  p = p * y + 1.0 / 6;
  p = p * y + 0.5;
  p = p * y + 1.0;
  return p * y + 1.0;
}

/// exp(d) for -700 < d < 700: 2^n exp(r ln 2), n the nearest integer of d / ln 2.
FERRY_CPU_INLINE double exp_in_range(double d) {
  constexpr double kLog2E = 1.44269504088896340736;
  constexpr double kLn2 = 0.693147180559945309417;
  // Adding 1.5 * 2^52 rounds to an integer, which then stands in the low bits.
  constexpr double kRound = 6755399441055744.0;
  const double t = d * kLog2E;
  const double shifted = t + kRound;
  const double y = (t - (shifted - kRound)) * kLn2;
  const uint64_t power = std::bit_cast<uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(exp_series(y)) + power);
}

/// exp(d) of what came from a float; beyond its range the float result is 0 or
/// infinity all the same.
FERRY_CPU_INLINE double exp_wide(double d) {
  const double low = select(d < -200.0, -200.0, d);
  const double both = select(low > 200.0, 200.0, low);
  return select(d != d, d, exp_in_range(both));
}

/// log(d) for positive normal d: e ln 2 + log(m), sqrt(1/2) < m <= sqrt(2), by
/// the series of 2 artanh((m - 1) / (m + 1)).
FERRY_CPU_INLINE double log_in_range(double d) {
  constexpr double kLn2 = 0.693147180559945309417;
  const uint64_t bits = std::bit_cast<uint64_t>(d);
  // The exponent as a double, without a conversion that AVX2 lacks.
  const double raw = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) - 4503599627370496.0;
  const double m1 = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const bool upper = m1 > 1.41421356237309504880;
  const double m = select(upper, m1 * 0.5, m1);
  const double e = raw - select(upper, 1022.0, 1023.0);
  const double f = (m - 1.0) / (m + 1.0);
  const double s = f * f;
  double p = 1.0 / 15;
  p = p * s + 1.0 / 13;
  p = p * s + 1.0 / 11;
  p = p * s + 1.0 / 9;
  p = p * s + 1.0 / 7;
  p = p * s + 1.0 / 5;
  p = p * s + 1.0 / 3;
  return e * kLn2 + 2.0 * (f + f * s * p);
}

FERRY_CPU_INLINE double log_wide(double d) {
  constexpr double kInfinity = __builtin_huge_val();
  const double in_range = log_in_range(d);
  const double below = select(d == 0.0, -kInfinity, __builtin_nan(""));
  const double positive = select(d == kInfinity, kInfinity, in_range);
  return select(d > 0.0, positive, select(d != d, d, below));
}

/// erfc(|x|) as t exp(-x^2 + P(t)), t = 1 / (1 + |x| / 2): the Chebyshev fit of
/// Press et al., Numerical Recipes, relative error below 1.2e-7.
FERRY_CPU_INLINE double erfc_positive(double x) {
  const double t = 1.0 / (1.0 + 0.5 * x);
  double p = 0.17087277;
  p = p * t - 0.82215223;
  p = p * t + 1.48851587;
  p = p * t - 1.13520398;
  p = p * t + 0.27886807;
  p = p * t - 0.18628806;
  p = p * t + 0.09678418;
  p = p * t + 0.37409196;
  p = p * t + 1.00002368;
  p = p * t - 1.26551223;
  return t * exp_wide(p - x * x);
}

/// erf(x) for |x| < 1: 2 / sqrt(pi) times the sum of (-1)^n x^(2n+1) / (n! (2n+1)).
FERRY_CPU_INLINE double erf_series(double x) {
  const double s = x * x;
  double p = 1.0 / (479001600.0 * 25);
  p = -1.0 / (39916800.0 * 23) + s * p;
  p = 1.0 / (3628800.0 * 21) + s * p;
  p = -1.0 / (362880.0 * 19) + s * p;
  p = 1.0 / (40320.0 * 17) + s * p;
  p = -1.0 / (5040.0 * 15) + s * p;
  p = 1.0 / (720.0 * 13) + s * p;
  p = -1.0 / (120.0 * 11) + s * p;
  p = 1.0 / (24.0 * 9) + s * p;
  p = -1.0 / (6.0 * 7) + s * p;
  p = 1.0 / (2.0 * 5) + s * p;
  p = -1.0 / 3 + s * p;
  p = 1.0 + s * p;
  return 1.12837916709551257390 * x * p;
}

// The float forms below would hide the others.
#define FERRY_CPU_OTHERS(name)      \
  template <class T>                \
  FERRY_CPU_INLINE auto name(T a) { \
    return sdk::math::name(a);      \
  }
FERRY_CPU_OTHERS(exp)
FERRY_CPU_OTHERS(expm1)
FERRY_CPU_OTHERS(log)
FERRY_CPU_OTHERS(log1p)
FERRY_CPU_OTHERS(tanh)
FERRY_CPU_OTHERS(erf)
FERRY_CPU_OTHERS(erfc)
#undef FERRY_CPU_OTHERS

FERRY_CPU_INLINE float exp(float a) { return static_cast<float>(exp_wide(a)); }
FERRY_CPU_INLINE float log(float a) { return static_cast<float>(log_wide(a)); }

FERRY_CPU_INLINE float expm1(float a) {
  const double d = a;
  // Near 0 the 1 is left out before it swallows the rest.
  double p = 1.0 / 362880;
  p = p * d + 1.0 / 40320;
  p = p * d + 1.0 / 5040;
  p = p * d + 1.0 / 720;
  p = p * d + 1.0 / 120;
  p = p * d + 1.0 / 24;
  p = p * d + 1.0 / 6;
  p = p * d + 0.5;
  p = p * d + 1.0;
  const bool near = d > -0.34 && d < 0.34;
  return static_cast<float>(select(near, p * d, exp_wide(d) - 1.0));
}

FERRY_CPU_INLINE float log1p(float a) {
  const double d = a;
  const double small = d * (1.0 + d * (-0.5 + d * (1.0 / 3 - d * 0.25)));
  const bool near = d > -1e-3 && d < 1e-3;
  return static_cast<float>(select(near, small, log_wide(1.0 + d)));
}

FERRY_CPU_INLINE float tanh(float a) {
  const double d = a;
  const double s = d * d;
  const double small = d * (1.0 + s * (-1.0 / 3 + s * (2.0 / 15 - s * (17.0 / 315))));
  const double wide = 1.0 - 2.0 / (exp_wide(2.0 * d) + 1.0);
  const bool near = d > -0.02 && d < 0.02;
  return static_cast<float>(select(near, small, wide));
}

FERRY_CPU_INLINE float erf(float a) {
  const double d = a;
  const double size = select(d < 0.0, -d, d);
  const double tail = 1.0 - erfc_positive(size);
  const double wide = select(d < 0.0, -tail, tail);
  return static_cast<float>(select(size < 1.0, erf_series(d), wide));
}

FERRY_CPU_INLINE float erfc(float a) {
  const double d = a;
  const double size = select(d < 0.0, -d, d);
  const double upper = erfc_positive(size);
  return static_cast<float>(select(d < 0.0, 2.0 - upper, upper));
}

}  // namespace ferry::cpu::FERRY_CPU_ISA::words

#endif  // FERRY_CPU_ISA_FAST_MATH_H
