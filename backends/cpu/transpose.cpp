// SPDX-License-Identifier: Apache-2.0
//
// Square blocks are turned in a buffer that stays in the nearest cache, so that
// memory is read and written in whole cache lines, whatever the strides.
#include "transpose.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "parallel.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ferry::cpu {
namespace {

/// Elements of a side of a block: the buffer of eight-byte elements has 8 KiB.
constexpr int64_t kBlock = 32;
/// Below this many elements the plain walk is as good.
constexpr int64_t kLeast = 4096;
/// Blocks that pay for another thread.
constexpr int64_t kGrain = 32;

/// Bytes of a result that no cache holds until it is read.
constexpr int64_t kFar = int64_t{16} << 20;

/// Planes of `across` x `along` elements. The target's neighbours are along
/// `along`, the source's along `across`; strides in elements.
struct Planes {
  char* from;
  char* to;
  int64_t along, across;
  int64_t from_stride;  ///< of the source along `along`
  int64_t to_stride;    ///< of the target along `across`
  /// The other dimensions.
  size_t n_outer = 0;
  std::array<int64_t, FERRY_MAX_DIMS> size, from_outer, to_outer;
};

/// Four rows of four 32-bit elements into four columns.
void turn_four(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride) {
  using Four [[gnu::vector_size(16)]] = uint32_t;
  Four a, b, c, d;
  std::memcpy(&a, from, sizeof a);
  std::memcpy(&b, from + from_stride, sizeof b);
  std::memcpy(&c, from + 2 * from_stride, sizeof c);
  std::memcpy(&d, from + 3 * from_stride, sizeof d);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Four ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Four cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
  std::memcpy(to, &a, sizeof a);
  std::memcpy(to + to_stride, &b, sizeof b);
  std::memcpy(to + 2 * to_stride, &c, sizeof c);
  std::memcpy(to + 3 * to_stride, &d, sizeof d);
}

/// A row of a block on its way to memory. `far`: more goes there than caches
/// hold, so that nothing of it need be read first.
void write_row(void* to, const void* from, size_t bytes, bool far) {
#if defined(__SSE2__)
  if (far && bytes % 64 == 0 && reinterpret_cast<uintptr_t>(to) % 16 == 0) {
    auto* const target = static_cast<__m128i*>(to);
    const auto* const source = static_cast<const __m128i*>(from);
    for (size_t i = 0; i < bytes / 16; ++i) _mm_stream_si128(target + i, source[i]);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

template <class T>
void turn_block(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t along,
                int64_t across, bool far) {
  alignas(64) T buffer[kBlock * kBlock];
  int64_t i = 0;
  if constexpr (sizeof(T) == 4) {
    if (across == kBlock) {
      for (; i + 4 <= along; i += 4) {
        const T* const rows = from + i * from_stride;
        // The next block's, which no hardware foresees.
        for (int64_t k = 0; k < 4; ++k) {
          const T* const next = rows + k * from_stride + kBlock;
          for (int64_t line = 0; line < kBlock; line += 16) __builtin_prefetch(next + line);
        }
        for (int64_t j = 0; j < kBlock; j += 4) {
          turn_four(rows + j, from_stride, buffer + j * kBlock + i, kBlock);
        }
      }
    }
  }
  for (; i < along; ++i) {
    const T* const row = from + i * from_stride;
    for (int64_t j = 0; j < across; ++j) buffer[j * kBlock + i] = row[j];
  }
  for (int64_t j = 0; j < across; ++j) {
    write_row(to + j * to_stride, buffer + j * kBlock, static_cast<size_t>(along) * sizeof(T), far);
  }
}

template <class T>
void turn_planes(const Planes& p) {
  const int64_t wide = (p.along + kBlock - 1) / kBlock;
  const int64_t high = (p.across + kBlock - 1) / kBlock;
  int64_t planes = 1;
  for (size_t d = 0; d < p.n_outer; ++d) planes *= p.size[d];
  const bool far = planes * p.along * p.across * int64_t{sizeof(T)} >= kFar;
  parallel_for(planes * wide * high, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t i = b / high % wide * kBlock;
      const int64_t j = b % high * kBlock;
      int64_t plane = b / wide / high;
      int64_t from = i * p.from_stride + j;
      int64_t to = i + j * p.to_stride;
      for (size_t d = p.n_outer; d-- > 0; plane /= p.size[d]) {
        from += plane % p.size[d] * p.from_outer[d];
        to += plane % p.size[d] * p.to_outer[d];
      }
      turn_block(reinterpret_cast<const T*>(p.from) + from, p.from_stride,
                 reinterpret_cast<T*>(p.to) + to, p.to_stride, std::min(kBlock, p.along - i),
                 std::min(kBlock, p.across - j), far);
    }
#if defined(__SSE2__)
    if (far) _mm_sfence();
#endif
  });
}

}  // namespace

bool transpose_copy(const Walk& walk) {
  const std::span<const int64_t> shape = walk.shape();
  if (shape.size() < 2 || walk.count() < kLeast) return false;
  const Walk::Operand& from = walk.operand(0);
  const Walk::Operand& to = walk.operand(1);
  const auto unit = [&](const Walk::Operand& o) {
    const auto begin = o.stride.begin();
    return static_cast<size_t>(std::find(begin, begin + shape.size(), 1) - begin);
  };
  const size_t along = unit(to);
  const size_t across = unit(from);
  if (along == shape.size() || across == shape.size() || along == across) return false;
  if (shape[along] < 8 || shape[across] < 8) return false;

  Planes p{};
  p.from = from.base;
  p.to = to.base;
  p.along = shape[along];
  p.across = shape[across];
  p.from_stride = from.stride[along];
  p.to_stride = to.stride[across];
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d == along || d == across) continue;
    p.size[p.n_outer] = shape[d];
    p.from_outer[p.n_outer] = from.stride[d];
    p.to_outer[p.n_outer++] = to.stride[d];
  }
  switch (from.item) {
    case 1:
      turn_planes<uint8_t>(p);
      break;
    case 2:
      turn_planes<uint16_t>(p);
      break;
    case 4:
      turn_planes<uint32_t>(p);
      break;
    default:
      turn_planes<uint64_t>(p);
      break;
  }
  return true;
}

}  // namespace ferry::cpu
