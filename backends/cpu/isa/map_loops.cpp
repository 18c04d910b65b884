// SPDX-License-Identifier: Apache-2.0
//
// The loops of map programs: one for each scalar op and compute type, and the
// conversions into and out of tiles.
#include "isa/isa_text.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "ferry/sdk/convert.h"
#include "isa/fast_math.h"
#include "isa/fill_tables.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ferry::cpu::FERRY_CPU_ISA {
namespace {

// One struct for each op, whose run() is its loop. Operands that an op does not
// have point to valid memory all the same.
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp)                 \
  template <class T>                                                                         \
  struct Step_##upper {                                                                      \
    static void run(void* out_, const void* a_, const void* b_, const void* c_, int64_t n) { \
      using namespace words; /* NOLINT(google-build-using-namespace) */                      \
      T* const out = static_cast<T*>(out_);                                                  \
      [[maybe_unused]] const T* const pa = static_cast<const T*>(a_);                        \
      [[maybe_unused]] const T* const pb = static_cast<const T*>(b_);                        \
      [[maybe_unused]] const T* const pc = static_cast<const T*>(c_);                        \
      FERRY_CPU_INDEPENDENT                                                                  \
      for (int64_t i = 0; i < n; ++i) {                                                      \
        [[maybe_unused]] const T a = arity > 0 ? pa[i] : T(0);                               \
        [[maybe_unused]] const T b = arity > 1 ? pb[i] : T(0);                               \
        [[maybe_unused]] const T c = arity > 2 ? pc[i] : T(0);                               \
        out[i] = static_cast<T>(formula);                                                    \
      }                                                                                      \
    }                                                                                        \
  };
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP

template <class T>
void fill_steps(StepLoop* steps) {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  steps[code] = &Step_##upper<T>::run;
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
}

template <class T>
void index_loop(void* out_, int64_t first, int64_t n) {
  T* const out = static_cast<T*>(out_);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(first + i);
}

template <class S, class C>
void load_loop(void* tile_, const void* from_, int64_t stride, int64_t n) {
  C* const tile = static_cast<C*>(tile_);
  const S* const from = static_cast<const S*>(from_);
  if (stride == 1) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<S, sdk::F16> && std::is_same_v<C, float>) {
      for (; i + 8 <= n; i += 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(tile + i, _mm256_cvtph_ps(halves));
      }
    }
#endif
    if constexpr (std::is_same_v<S, sdk::BF16> && std::is_same_v<C, float>) {
      static_assert(sizeof(S) == 2);
      for (; i < n; ++i) {
        uint16_t half;
        std::memcpy(&half, from + i, sizeof half);
        tile[i] = std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
      }
    }
    for (; i < n; ++i) tile[i] = sdk::load_as<C>(from[i]);
  } else if (stride == 0) {
    const C value = sdk::load_as<C>(from[0]);
    for (int64_t i = 0; i < n; ++i) tile[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) tile[i] = sdk::load_as<C>(from[i * stride]);
  }
}

#if defined(__AVX2__)
/// Eight floats as the upper halves of 32-bit lanes, rounded to nearest even;
/// NaN stays NaN.
inline __m256i round_to_bf16(const float* from) {
  const __m256 value = _mm256_loadu_ps(from);
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i even = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(bits, _mm256_add_epi32(even, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
  return _mm256_srli_epi32(_mm256_blendv_epi8(up, quiet, _mm256_castps_si256(is_nan)), 16);
}

inline void store_bf16(sdk::BF16* to, const float* from) {
  const __m256i packed = _mm256_packus_epi32(round_to_bf16(from), round_to_bf16(from + 8));
  // Packing works within halves of the register.
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permute4x64_epi64(packed, 0xd8));
}
#endif

template <class S, class C>
void store_loop(void* to_, int64_t stride, const void* tile_, int64_t n) {
  S* const to = static_cast<S*>(to_);
  const C* const tile = static_cast<const C*>(tile_);
  if (stride == 1) {
    int64_t i = 0;
#if defined(__F16C__)
    if constexpr (std::is_same_v<S, sdk::F16> && std::is_same_v<C, float>) {
      for (; i + 8 <= n; i += 8) {
        const __m128i halves =
            _mm256_cvtps_ph(_mm256_loadu_ps(tile + i), _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
      }
    }
#endif
#if defined(__AVX2__)
    if constexpr (std::is_same_v<S, sdk::BF16> && std::is_same_v<C, float>) {
      for (; i + 16 <= n; i += 16) store_bf16(to + i, tile + i);
    }
#endif
    FERRY_CPU_INDEPENDENT
    for (; i < n; ++i) to[i] = sdk::store_as<S>(tile[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * stride] = sdk::store_as<S>(tile[i]);
  }
}

template <class S>
void fill_conversions(Loops& loops, int dtype) {
  loops.load[dtype][kInt32] = &load_loop<S, int32_t>;
  loops.load[dtype][kInt64] = &load_loop<S, int64_t>;
  loops.load[dtype][kFloat] = &load_loop<S, float>;
  loops.load[dtype][kDouble] = &load_loop<S, double>;
  loops.store[dtype][kInt32] = &store_loop<S, int32_t>;
  loops.store[dtype][kInt64] = &store_loop<S, int64_t>;
  loops.store[dtype][kFloat] = &store_loop<S, float>;
  loops.store[dtype][kDouble] = &store_loop<S, double>;
}

}  // namespace

void fill_map_loops(Loops& loops) {
  fill_steps<int32_t>(loops.step[kInt32]);
  fill_steps<int64_t>(loops.step[kInt64]);
  fill_steps<float>(loops.step[kFloat]);
  fill_steps<double>(loops.step[kDouble]);
  loops.index[kInt32] = &index_loop<int32_t>;
  loops.index[kInt64] = &index_loop<int64_t>;
  loops.index[kFloat] = &index_loop<float>;
  loops.index[kDouble] = &index_loop<double>;
  fill_conversions<sdk::Bool>(loops, FERRY_BOOL);
  fill_conversions<uint8_t>(loops, FERRY_U8);
  fill_conversions<int8_t>(loops, FERRY_I8);
  fill_conversions<int16_t>(loops, FERRY_I16);
  fill_conversions<int32_t>(loops, FERRY_I32);
  fill_conversions<int64_t>(loops, FERRY_I64);
  fill_conversions<sdk::F16>(loops, FERRY_F16);
  fill_conversions<sdk::BF16>(loops, FERRY_BF16);
  fill_conversions<float>(loops, FERRY_F32);
  fill_conversions<double>(loops, FERRY_F64);
}

}  // namespace ferry::cpu::FERRY_CPU_ISA
