// SPDX-License-Identifier: Apache-2.0
//
// Names, promotion and conversion of element types.
#include "ferry/dtype.h"

#include <string>

#include "ferry/error.h"
#include "ferry/sdk/convert.h"

namespace ferry {
namespace {

constexpr std::string_view kLongNames[kDTypeCount] = {"bool",    "uint8",  "int8",    "int16",
                                                      "int32",   "int64",  "float16", "bfloat16",
                                                      "float32", "float64"};
constexpr std::string_view kShortNames[kDTypeCount] = {"bool", "u8",  "i8",   "i16", "i32",
                                                       "i64",  "f16", "bf16", "f32", "f64"};

}  // namespace

std::string_view name(DType dtype) noexcept { return kLongNames[static_cast<size_t>(dtype)]; }

DType dtype_from_name(std::string_view word) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (word == kLongNames[i] || word == kShortNames[i]) return static_cast<DType>(i);
  }
  throw InvalidArgument("dtype", "'" + std::string(word) +
                                     "' is no dtype; there are bool, uint8, int8, int16, int32, "
                                     "int64, float16, bfloat16, float32, float64");
}

DType promote_types(DType a, DType b) noexcept {
  if (a == b) return a;
  if (a > b) std::swap(a, b);
  if (is_floating_point(b)) {
    // Two halves of different kinds meet in f32; an integer takes the float.
    return a == kF16 && b == kBF16 ? kF32 : b;
  }
  // u8 with a signed type needs a wider signed one; else the wider wins.
  if (a == kU8 && b == kI8) return kI16;
  return b;
}

Half::Half(float value) noexcept : bits(sdk::to_f16(value).bits) {}
Half::operator float() const noexcept { return sdk::to_float(sdk::F16{bits}); }
BFloat16::BFloat16(float value) noexcept : bits(sdk::to_bf16(value).bits) {}
BFloat16::operator float() const noexcept { return sdk::to_float(sdk::BF16{bits}); }

int64_t Scalar::to_int() const noexcept {
  return kind_ == kF64 ? sdk::float_to_integer<int64_t>(f_) : i_;
}

}  // namespace ferry
