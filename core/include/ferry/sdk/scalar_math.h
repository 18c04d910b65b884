// SPDX-License-Identifier: Apache-2.0
//
// The words fm_... that the formulas of abi/scalar_ops.def use, for C++: what
// plain operators leave undefined for integers, or get wrong for NaN.
#ifndef FERRY_SDK_SCALAR_MATH_H
#define FERRY_SDK_SCALAR_MATH_H

#include <math.h>  // lgamma_r

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ferry::sdk::math {

using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atan2;
using std::atanh;
using std::copysign;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::exp2;
using std::expm1;
using std::hypot;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::pow;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;

template <class T>
inline constexpr bool kInteger = std::is_integral_v<T>;
template <class T>
using Wrapping = std::make_unsigned_t<std::conditional_t<kInteger<T>, T, int>>;

// Integers wrap, without undefined behaviour.
template <class T>
inline T fm_add(T a, T b) {
  if constexpr (kInteger<T>)
    return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  else
    return a + b;
}
template <class T>
inline T fm_sub(T a, T b) {
  if constexpr (kInteger<T>)
    return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  else
    return a - b;
}
template <class T>
inline T fm_mul(T a, T b) {
  if constexpr (kInteger<T>)
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  else
    return a * b;
}
template <class T>
inline T fm_neg(T a) {
  if constexpr (kInteger<T>)
    return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a));
  else
    return -a;
}
template <class T>
inline T fm_abs(T a) {
  if constexpr (kInteger<T>)
    return a < 0 ? fm_neg(a) : a;
  else
    return std::fabs(a);
}
// True division is only asked for in floating compute types; the integer form
// exists so that every formula compiles.
template <class T>
inline T fm_div(T a, T b) {
  if constexpr (kInteger<T>)
    return b == 0 || b == -1 ? T(0) : a / b;
  else
    return a / b;
}
// NaN in either operand is the result.
template <class T>
inline T fm_max(T a, T b) {
  return a != a || a > b ? a : b;
}
template <class T>
inline T fm_min(T a, T b) {
  return a != a || a < b ? a : b;
}
template <class T>
inline T fm_floor(T a) {
  if constexpr (kInteger<T>)
    return a;
  else
    return std::floor(a);
}
template <class T>
inline T fm_ceil(T a) {
  if constexpr (kInteger<T>)
    return a;
  else
    return std::ceil(a);
}
template <class T>
inline T fm_rint(T a) {
  if constexpr (kInteger<T>)
    return a;
  else
    return std::rint(a);
}
template <class T>
inline T fm_trunc(T a) {
  if constexpr (kInteger<T>)
    return a;
  else
    return std::trunc(a);
}

// NaN only where both are; of two zeros the second.
template <class T>
inline T fm_fmax(T a, T b) {
  return b != b || a > b ? a : b;
}
template <class T>
inline T fm_fmin(T a, T b) {
  return b != b || a < b ? a : b;
}
/// With the sign of a. Integers: 0 where b is 0.
template <class T>
inline T fm_fmod(T a, T b) {
  if constexpr (kInteger<T>)
    return b == 0 || b == -1 ? T(0) : static_cast<T>(a % b);
  else
    return std::fmod(a, b);
}
/// With the sign of b. Integers: 0 where b is 0.
template <class T>
inline T fm_remainder(T a, T b) {
  const T rest = fm_fmod(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? static_cast<T>(rest + b) : rest;
}
template <class T>
inline bool fm_isinf(T a) {
  if constexpr (kInteger<T>)
    return false;
  else
    return std::fabs(a) == static_cast<T>(__builtin_huge_val());
}
/// Through double, and without the C library's global sign.
template <class T>
inline T fm_lgamma(T a) {
  int sign = 0;
  return static_cast<T>(::lgamma_r(static_cast<double>(a), &sign));
}
// Bits. The floating forms exist so that every formula compiles.
template <class T>
inline T fm_and(T a, [[maybe_unused]] T b) {
  if constexpr (kInteger<T>)
    return a & b;
  else
    return a;
}
template <class T>
inline T fm_or(T a, [[maybe_unused]] T b) {
  if constexpr (kInteger<T>)
    return a | b;
  else
    return a;
}
template <class T>
inline T fm_xor(T a, [[maybe_unused]] T b) {
  if constexpr (kInteger<T>)
    return a ^ b;
  else
    return a;
}
template <class T>
inline T fm_not(T a) {
  if constexpr (kInteger<T>)
    return ~a;
  else
    return a;
}
/// By a count outside of 0..width-1 everything is shifted out.
template <class T>
inline T fm_shift_left(T a, [[maybe_unused]] T b) {
  if constexpr (kInteger<T>)
    return b < 0 || b >= T(8 * sizeof(T)) ? T(0) : static_cast<T>(Wrapping<T>(a) << b);
  else
    return a;
}
template <class T>
inline T fm_shift_right(T a, [[maybe_unused]] T b) {
  if constexpr (kInteger<T>)
    return a >> (b < 0 || b >= T(8 * sizeof(T)) ? T(8 * sizeof(T) - 1) : b);
  else
    return a;
}

}  // namespace ferry::sdk::math

#endif  // FERRY_SDK_SCALAR_MATH_H
