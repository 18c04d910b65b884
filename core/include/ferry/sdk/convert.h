// SPDX-License-Identifier: Apache-2.0
//
// Conversions between element types as abi/program.h defines them, without
// undefined behaviour, for C++ backends and the host.
#ifndef FERRY_SDK_CONVERT_H
#define FERRY_SDK_CONVERT_H

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace ferry::sdk {

/// IEEE binary16 as stored.
struct F16 {
  uint16_t bits;
};
/// The upper half of binary32 as stored.
struct BF16 {
  uint16_t bits;
};
/// One byte, 0 or 1.
struct Bool {
  uint8_t value;
};

inline float to_float(BF16 v) { return std::bit_cast<float>(uint32_t(v.bits) << 16); }

/// Rounds to nearest even; NaN stays a quiet NaN with its sign.
inline BF16 to_bf16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16) | 0x40u;
  return {static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

inline float to_float(F16 h) {
  const uint32_t sign = uint32_t(h.bits & 0x8000u) << 16;
  const uint32_t rest = uint32_t(h.bits & 0x7fffu) << 13;
  // Normal numbers: move the exponent from bias 15 to 127. Infinity and NaN
  // need the largest exponent, subnormal numbers a renormalisation.
  const float normal = std::bit_cast<float>(rest + (112u << 23));
  const float subnormal =
      std::bit_cast<float>(rest + (113u << 23)) - std::bit_cast<float>(113u << 23);
  const float special = std::bit_cast<float>(rest | 0x7f800000u);
  const uint32_t exponent = h.bits & 0x7c00u;
  const float magnitude = exponent == 0x7c00u ? special : exponent == 0 ? subnormal : normal;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

/// Rounds to nearest even, in the subnormal range too.
inline F16 to_f16(float f) {
  const uint32_t bits = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  uint32_t out;
  if (magnitude > 0x7f800000u) {
    out = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more
    out = 0x7c00u;
  } else if (magnitude < 0x38800000u) {
    // Adding 0.5 lets the float adder round at the weight of 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    out = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f);
  } else {
    out = (magnitude + 0xfffu + ((magnitude >> 13) & 1u) - (112u << 23)) >> 13;
  }
  return {static_cast<uint16_t>(sign | out)};
}

/// Truncates; beyond i64 saturates, NaN gives 0; then wraps to T's width, where
/// a value beyond i64 takes T's bound instead.
template <class T, class F>
inline T float_to_integer(F f) {
  static_assert(std::is_integral_v<T> && std::is_floating_point_v<F>);
  if (f != f) return 0;
  if (f >= F(9223372036854775808.0)) return std::numeric_limits<T>::max();
  if (f < F(-9223372036854775808.0)) return std::numeric_limits<T>::min();
  return static_cast<T>(static_cast<int64_t>(f));
}

/// From a tensor's element to a compute type (int32_t, int64_t, float, double).
template <class C, class S>
inline C load_as(S v) {
  if constexpr (std::is_same_v<S, Bool>)
    return static_cast<C>(v.value != 0);
  else if constexpr (std::is_same_v<S, F16> || std::is_same_v<S, BF16>)
    return load_as<C>(to_float(v));
  else if constexpr (std::is_floating_point_v<S> && std::is_integral_v<C>)
    return float_to_integer<C>(v);
  else
    return static_cast<C>(v);
}

/// From a compute type to a tensor's element.
template <class S, class C>
inline S store_as(C v) {
  if constexpr (std::is_same_v<S, Bool>)
    return Bool{static_cast<uint8_t>(v != C(0))};
  else if constexpr (std::is_same_v<S, F16>)
    return to_f16(static_cast<float>(v));
  else if constexpr (std::is_same_v<S, BF16>)
    return to_bf16(static_cast<float>(v));
  else if constexpr (std::is_integral_v<S> && std::is_floating_point_v<C>)
    return float_to_integer<S>(v);
  else
    return static_cast<S>(v);
}

/// Calls `f` with a value of the element type of `dtype`, and returns what it
/// returns: `visit_dtype(d, [&](auto tag) { using T = decltype(tag); ... })`.
template <class Function>
inline auto visit_dtype(uint32_t dtype, Function&& f) {
  switch (dtype) {
    case 0:
      return f(Bool{});
    case 1:
      return f(uint8_t{});
    case 2:
      return f(int8_t{});
    case 3:
      return f(int16_t{});
    case 4:
      return f(int32_t{});
    case 5:
      return f(int64_t{});
    case 6:
      return f(F16{});
    case 7:
      return f(BF16{});
    case 8:
      return f(float{});
    default:
      return f(double{});
  }
}

}  // namespace ferry::sdk

#endif  // FERRY_SDK_CONVERT_H
