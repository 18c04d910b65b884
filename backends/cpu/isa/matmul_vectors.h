// SPDX-License-Identifier: Apache-2.0
//
// Vectors of an instruction set's width, for the loops of matrix products.
#ifndef FERRY_CPU_ISA_MATMUL_VECTORS_H
#define FERRY_CPU_ISA_MATMUL_VECTORS_H

#include "isa/isa_text.h"

#include <cstdint>
#include <type_traits>

#include "ferry/sdk/convert.h"
#include "matmul_loops.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ferry::cpu::FERRY_CPU_ISA {

// Registers: the tile of kRows x 2 vectors leaves room for two vectors of B and
// one element of A.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
constexpr int kRows = 12;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
constexpr int kRows = 6;
#else
constexpr int kVectorBytes = 16;
constexpr int kRows = 4;
#endif
static_assert(kBlockRows % kRows == 0);

template <class C>
struct VectorOf {
  typedef C type __attribute__((vector_size(kVectorBytes)));
};
template <class C>
using Vec = typename VectorOf<C>::type;
template <class C>
constexpr int kLanes = kVectorBytes / int{sizeof(C)};
template <class C>
constexpr int kCols = 2 * kLanes<C>;

template <class C>
[[gnu::always_inline]] inline Vec<C> load_vec(const C* from) {
  Vec<C> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class C>
[[gnu::always_inline]] inline void store_vec(C* to, Vec<C> v) {
  __builtin_memcpy(to, &v, sizeof v);
}

/// a * b + c. Explicit, since contraction is off.
template <class C>
[[gnu::always_inline]] inline Vec<C> multiply_add(Vec<C> a, Vec<C> b, Vec<C> c) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<C, float>)
    return (Vec<C>)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else if constexpr (std::is_same_v<C, double>)
    return (Vec<C>)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  else
    return a * b + c;
#elif defined(__FMA__)
  if constexpr (std::is_same_v<C, float>)
    return (Vec<C>)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else if constexpr (std::is_same_v<C, double>)
    return (Vec<C>)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  else
    return a * b + c;
#else
  return a * b + c;
#endif
}
template <class C>
[[gnu::always_inline]] inline C multiply_add_one(C a, C b, C c) {
  // Wide enough that 16-bit factors do not overflow int.
  if constexpr (std::is_integral_v<C>) return static_cast<C>(uint64_t{a} * b + c);
#if defined(__FMA__)
  else if constexpr (std::is_same_v<C, float>)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
#else
  else
    return a * b + c;
#endif
}

template <class C, class S>
[[gnu::always_inline]] inline C widen(S v) {
  if constexpr (std::is_integral_v<S> || std::is_floating_point_v<S>)
    return static_cast<C>(v);
  else
    return sdk::load_as<C>(v);
}

/// n dense elements to the accumulation type.
template <class C, class S>
[[gnu::always_inline]] inline void widen_run(C* to, const S* from, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  if constexpr (std::is_same_v<S, sdk::F16>) {
    for (; i + 8 <= n; i += 8) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
  }
#endif
  for (; i < n; ++i) to[i] = widen<C>(from[i]);
}

}  // namespace ferry::cpu::FERRY_CPU_ISA

#endif  // FERRY_CPU_ISA_MATMUL_VECTORS_H
