// SPDX-License-Identifier: Apache-2.0
//
// exp, log and their kin for float as straight code that the compiler
// vectorises. Polynomials are near-minimax fits of ours, by weighted least
// squares on Chebyshev points; what cancels near 0 is computed in double.
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

FERRY_CPU_INLINE float select(bool condition, float yes, float no) { return condition ? yes : no; }

/// 2^n y in two steps, of which the second may overflow or lose bits.
FERRY_CPU_INLINE float scaled(float y, int32_t n) {
  const int32_t half = n >> 1;
  const auto power = [](int32_t k) {
    return std::bit_cast<float>(static_cast<uint32_t>(k + 127) << 23);
  };
  return y * power(half) * power(n - half);
}

/// exp(a + b), where b is small beside a or less than a few: 2^n exp(r) with n
/// the nearest integer of (a + b) / ln 2. Error below 1 ulp. The sum is in
/// -104..89.
FERRY_CPU_INLINE float exp_of_sum(float a, float b) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  const float shifted = (a + b) * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = ((a - n * kLn2High) + b) - n * kLn2Low;
  const float s = r * r;
  const float p01 = 0.499999934f + 0.166665206f * r;
  const float p23 = 0.0416683881f + 0.008368717f * r;
  const float p = p01 + s * (p23 + s * 0.00138145973f);
  const float y = (p * s + r) + 1.0f;
  const uint32_t bits = std::bit_cast<uint32_t>(shifted) - 0x4b400000u;
  return scaled(y, static_cast<int32_t>(bits));
}

FERRY_CPU_INLINE float exp_float(float a) {
  const float low = select(a < -104.0f, -104.0f, a);
  return exp_of_sum(select(low > 89.0f, 89.0f, low), 0.0f);
}

/// e ln 2 + log(1 + f), sqrt(1/2) < 1 + f <= sqrt(2); error below 1 ulp.
FERRY_CPU_INLINE float log_float(float a) {
  constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
  constexpr float kInfinity = __builtin_huge_valf();
  const bool denormal = a < 1.17549435e-38f;
  const auto bits = std::bit_cast<uint32_t>(select(denormal, a * 8388608.0f, a));
  const float m1 = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f800000u);
  const bool upper = m1 > 1.41421356f;
  const auto exponent = static_cast<float>(static_cast<int32_t>(bits >> 23));
  const float e = exponent - select(denormal, 150.0f, 127.0f) + select(upper, 1.0f, 0.0f);
  const float f = select(upper, m1 * 0.5f, m1) - 1.0f;
  const float s = f * f;
  float p = 0.0674661891f;
  p = p * f - 0.11675646f;
  p = p * f + 0.11888169f;
  p = p * f - 0.124055903f;
  p = p * f + 0.142195516f;
  p = p * f - 0.166679958f;
  p = p * f + 0.200021187f;
  p = p * f - 0.250000096f;
  p = p * f + 0.333333126f;
  const float rest = (p * f * s + e * kLn2Low) - 0.5f * s;
  const float in_range = (rest + f) + e * kLn2High;
  const float below = select(a == 0.0f, -kInfinity, __builtin_nanf(""));
  const float positive = select(a == kInfinity, kInfinity, in_range);
  return select(a > 0.0f, positive, select(a != a, a, below));
}

/// erfc(x) for x >= 0 as t exp(-x^2 + p(t)), t = 1 / (1 + x / 2), the form of
/// Press et al., Numerical Recipes. The square is split into an exact part and
/// a small rest, for exp multiplies their errors.
FERRY_CPU_INLINE float erfc_positive(float size) {
  const float x = select(size > 10.15f, 10.15f, size);
  const float t = 1.0f / (1.0f + 0.5f * x);
  const float high = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0xfffff000u);
  const float rest = (x - high) * (x + high);
  const float s = t * t;
  const float q = s * s;
  const float p01 = -1.26545089f + 0.998683132f * t;
  const float p23 = 0.386275734f + 0.0360536801f * t;
  const float p45 = -0.0022436866f - 0.0748971932f * t;
  const float p67 = -0.70149748f + 1.15987304f * t;
  const float p89 = -0.681874876f + 0.145078589f * t;
  const float p = (p01 + s * p23) + q * ((p45 + s * p67) + q * p89);
  return t * exp_of_sum(-(high * high), p - rest);
}

/// erf(x) for |x| < 1.
FERRY_CPU_INLINE float erf_series(float x) {
  const float s = x * x;
  float p = 7.85385924e-05f;
  p = p * s - 0.000801019299f;
  p = p * s + 0.00518832761f;
  p = p * s - 0.0268538119f;
  p = p * s + 0.112835851f;
  p = p * s - 0.376126258f;
  return x * (p * s + 1.12837917f);
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

FERRY_CPU_INLINE float exp(float a) { return exp_float(a); }
FERRY_CPU_INLINE float log(float a) { return log_float(a); }

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
  const float s = a * a;
  float p = -0.00570498217f;
  p = p * s + 0.0206390825f;
  p = p * s - 0.0537397134f;
  p = p * s + 0.133314422f;
  p = p * s - 0.333332819f;
  const float small = a * (p * s + 1.0f);  // -0 stays -0
  const float size = select(a < 0.0f, -a, a);
  const float tail = 1.0f - 2.0f / (exp_float(2.0f * size) + 1.0f);
  return select(size < 0.625f, small, select(a < 0.0f, -tail, tail));
}

FERRY_CPU_INLINE float erf(float a) {
  const float size = select(a < 0.0f, -a, a);
  const float tail = 1.0f - erfc_positive(size);
  return select(size < 1.0f, erf_series(a), select(a < 0.0f, -tail, tail));
}

FERRY_CPU_INLINE float erfc(float a) {
  const float size = select(a < 0.0f, -a, a);
  const float upper = erfc_positive(size);
  return select(a < 0.0f, 2.0f - upper, upper);
}

}  // namespace ferry::cpu::FERRY_CPU_ISA::words

#endif  // FERRY_CPU_ISA_FAST_MATH_H
