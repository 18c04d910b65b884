// SPDX-License-Identifier: Apache-2.0
//
// DType: the element types, and Scalar, a single number of any of them.
#ifndef FERRY_DTYPE_H
#define FERRY_DTYPE_H

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "ferry/abi/types.h"
#include "ferry/export.h"

namespace ferry {

enum class DType : uint8_t {
  kBool = FERRY_BOOL,
  kU8 = FERRY_U8,
  kI8 = FERRY_I8,
  kI16 = FERRY_I16,
  kI32 = FERRY_I32,
  kI64 = FERRY_I64,
  kF16 = FERRY_F16,
  kBF16 = FERRY_BF16,
  kF32 = FERRY_F32,
  kF64 = FERRY_F64
};
inline constexpr int kDTypeCount = 10;

inline constexpr DType kBool = DType::kBool;
inline constexpr DType kU8 = DType::kU8;
inline constexpr DType kI8 = DType::kI8;
inline constexpr DType kI16 = DType::kI16;
inline constexpr DType kI32 = DType::kI32;
inline constexpr DType kI64 = DType::kI64;
inline constexpr DType kF16 = DType::kF16;
inline constexpr DType kBF16 = DType::kBF16;
inline constexpr DType kF32 = DType::kF32;
inline constexpr DType kF64 = DType::kF64;

/// Bytes of one element.
constexpr size_t item_size(DType dtype) noexcept {
  constexpr uint8_t kSizes[kDTypeCount] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  return kSizes[static_cast<size_t>(dtype)];
}
constexpr bool is_floating_point(DType dtype) noexcept { return dtype >= DType::kF16; }
/// Integers, without bool.
constexpr bool is_integral(DType dtype) noexcept {
  return dtype >= DType::kU8 && dtype <= DType::kI64;
}

/// "float32", "int64", ... as PyTorch names them.
FERRY_API std::string_view name(DType dtype) noexcept;
/// The reverse, also of "f32", "i64", ...; InvalidArgument for other words.
FERRY_API DType dtype_from_name(std::string_view name);

/// PyTorch's promotion of two dtypes.
FERRY_API DType promote_types(DType a, DType b) noexcept;

/// Storage of halves on the host; conversions round to nearest even.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  FERRY_API explicit Half(float value) noexcept;
  FERRY_API explicit operator float() const noexcept;
};
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  FERRY_API explicit BFloat16(float value) noexcept;
  FERRY_API explicit operator float() const noexcept;
};

/// The dtype of a C++ type.
template <class T>
constexpr DType dtype_of() noexcept {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>)
    return kBool;
  else if constexpr (std::is_same_v<U, Half>)
    return kF16;
  else if constexpr (std::is_same_v<U, BFloat16>)
    return kBF16;
  else if constexpr (std::is_same_v<U, float>)
    return kF32;
  else if constexpr (std::is_same_v<U, double>)
    return kF64;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 1)
    return std::is_signed_v<U> ? kI8 : kU8;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U> && sizeof(U) == 2)
    return kI16;
  else if constexpr (std::is_integral_v<U> && std::is_signed_v<U> && sizeof(U) == 4)
    return kI32;
  else {
    static_assert(std::is_integral_v<U> && std::is_signed_v<U> && sizeof(U) == 8,
                  "this C++ type has no Ferry dtype");
    return kI64;
  }
}

/// One number, implicitly made from any arithmetic type. Its kind (bool,
/// integer or floating) takes part in type promotion as in PyTorch: it raises
/// a tensor's kind, never its width.
class Scalar {
 public:
  Scalar(bool v) noexcept : kind_(kBool), i_(v) {}  // NOLINT(*-explicit-*)
  template <std::integral T>
  Scalar(T v) noexcept : kind_(kI64), i_(static_cast<int64_t>(v)) {}  // NOLINT(*-explicit-*)
  template <std::floating_point T>
  Scalar(T v) noexcept : kind_(kF64), f_(static_cast<double>(v)) {}  // NOLINT(*-explicit-*)

  /// kBool, kI64 or kF64.
  DType kind() const noexcept { return kind_; }
  double to_double() const noexcept { return kind_ == kF64 ? f_ : static_cast<double>(i_); }
  /// Truncated; a floating value outside i64 saturates, NaN gives 0.
  FERRY_API int64_t to_int() const noexcept;
  bool to_bool() const noexcept { return kind_ == kF64 ? f_ != 0 : i_ != 0; }

 private:
  DType kind_;
  union {
    int64_t i_;
    double f_;
  };
};

}  // namespace ferry

#endif  // FERRY_DTYPE_H
