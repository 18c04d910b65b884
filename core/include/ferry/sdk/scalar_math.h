// SPDX-License-Identifier: Apache-2.0
//
// The words fm_... that the formulas of abi/scalar_ops.def use, for C++: what
// plain operators leave undefined for integers, or get wrong for NaN.
#ifndef FERRY_SDK_SCALAR_MATH_H
#define FERRY_SDK_SCALAR_MATH_H

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ferry::sdk::math {

using std::cos;
using std::erf;
using std::erfc;
using std::exp;
using std::expm1;
using std::log;
using std::log1p;
using std::pow;
using std::sin;
using std::sqrt;
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

}  // namespace ferry::sdk::math

#endif  // FERRY_SDK_SCALAR_MATH_H
