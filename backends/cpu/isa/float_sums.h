// SPDX-License-Identifier: Apache-2.0
//
// Sums of floats in double, eight vectors side by side, in an order that does
// not depend on the instruction set.
#ifndef FERRY_CPU_ISA_FLOAT_SUMS_H
#define FERRY_CPU_ISA_FLOAT_SUMS_H

#include "isa/isa_text.h"

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ferry::cpu::FERRY_CPU_ISA {

using Doubles [[gnu::vector_size(32)]] = double;

/// The sum of n floats, n a multiple of 32, each after f changed it; f takes a
/// Doubles&.
template <class F>
[[gnu::always_inline]] inline double sum_of(const float* values, int64_t n, F&& f) {
  constexpr int kVectors = 8;
  Doubles sums[kVectors] = {};
  for (int64_t i = 0; i < n; i += 4 * kVectors) {
    for (int v = 0; v < kVectors; ++v) {
      const float* const from = values + i + 4 * v;
#if defined(__AVX2__)
      // The compiler's own conversion of vectors takes a long way round.
      Doubles four = _mm256_cvtps_pd(_mm_loadu_ps(from));
#else
      Doubles four = {from[0], from[1], from[2], from[3]};
#endif
      f(four);
      sums[v] += four;
    }
  }
  for (int width = kVectors / 2; width > 0; width /= 2) {
    for (int v = 0; v < width; ++v) sums[v] += sums[v + width];
  }
  return (sums[0][0] + sums[0][2]) + (sums[0][1] + sums[0][3]);
}

}  // namespace ferry::cpu::FERRY_CPU_ISA

#endif  // FERRY_CPU_ISA_FLOAT_SUMS_H
