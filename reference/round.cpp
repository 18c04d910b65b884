// SPDX-License-Identifier: Apache-2.0
//
// Floating formats by their precision and range, integers by wrapping.
#include "reference/round.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ferry::reference {
namespace {

struct Format {
  int precision;    // bits of the significand, the hidden one included
  int least, most;  // exponents of the smallest and largest normal numbers
};
Format format_of(ferry_dtype dtype) {
  switch (dtype) {
    case FERRY_F16:
      return {11, -14, 15};
    case FERRY_BF16:
      return {8, -126, 127};
    case FERRY_F32:
      return {24, -126, 127};
    default:
      return {53, -1022, 1023};
  }
}

double wrap(double value, int bits, bool is_signed) {
  if (std::isnan(value)) return 0;
  const double t = std::trunc(value) + 0.0;  // an integer has no negative zero
  const double half = std::ldexp(1.0, bits - 1);
  const double most = is_signed ? half - 1 : 2 * half - 1;
  const double least = is_signed ? -half : 0;
  if (t >= 0x1p63) return bits == 64 ? 0x1p63 : most;
  if (t < -0x1p63) return least;
  if (bits == 64) return t;
  const double modulus = 2 * half;
  double rest = std::fmod(t, modulus) + 0.0;
  if (rest < least) rest += modulus;
  if (rest > most) rest -= modulus;
  return rest;
}

int bits_of(ferry_dtype dtype) {
  switch (dtype) {
    case FERRY_U8:
    case FERRY_I8:
      return 8;
    case FERRY_I16:
      return 16;
    case FERRY_I32:
      return 32;
    default:
      return 64;
  }
}

}  // namespace

int64_t wrap_to(ferry_dtype dtype, long double value) {
  // The magnitude fits 64 bits; two's complement negation is exact modulo 2^64.
  const auto magnitude = static_cast<uint64_t>(std::fabs(value));
  const uint64_t all = value < 0 ? ~magnitude + 1 : magnitude;
  const int unused = 64 - bits_of(dtype);
  const uint64_t top = all << unused;
  if (dtype == FERRY_U8) return static_cast<int64_t>(top >> unused);
  return static_cast<int64_t>(top) >> unused;
}

double ulp_at(ferry_dtype dtype, double value) {
  const Format f = format_of(dtype);
  int exponent = f.least;
  if (value != 0 && std::isfinite(value)) exponent = std::max(std::ilogb(value), f.least);
  exponent = std::min(exponent, f.most);
  return std::ldexp(1.0, exponent - f.precision + 1);
}

double round_to(ferry_dtype dtype, double value) {
  switch (dtype) {
    case FERRY_BOOL:
      return value != 0 || std::isnan(value) ? 1 : 0;
    case FERRY_U8:
    case FERRY_I8:
    case FERRY_I16:
    case FERRY_I32:
    case FERRY_I64:
      return wrap(value, bits_of(dtype), dtype != FERRY_U8);
    case FERRY_F64:
      return value;
    default:
      break;
  }
  if (!std::isfinite(value) || value == 0) return value;
  const Format f = format_of(dtype);
  const double unit = ulp_at(dtype, value);
  // Dividing by a power of two is exact; nearbyint rounds to nearest even.
  const double rounded = std::nearbyint(value / unit) * unit;
  const double largest = (2 - std::ldexp(1.0, 1 - f.precision)) * std::ldexp(1.0, f.most);
  if (std::fabs(rounded) > largest) {
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  }
  return rounded;
}

}  // namespace ferry::reference
