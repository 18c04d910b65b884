// SPDX-License-Identifier: Apache-2.0
//
// What the kernels that go by positions share: walking strided tensors, and
// looking at indices before anything is written.
#ifndef FERRY_CPU_INDICES_H
#define FERRY_CPU_INDICES_H

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "ferry/hal/kernel.h"
#include "parallel.h"

namespace ferry::cpu {

/// Elements that are worth a thread.
inline constexpr int64_t kGrain = 16384;

template <class Item>
Item* begin_of(const ferry_tensor& t) {
  return reinterpret_cast<Item*>(t.at.memory.handle + t.at.offset);
}

inline int64_t count_of(const ferry_tensor& t) {
  int64_t n = 1;
  for (uint32_t d = 0; d < t.ndim; ++d) n *= t.shape[d];
  return n;
}

/// The offsets, in elements, of element `number` of `shape` in several tensors.
template <size_t N>
std::array<int64_t, N> offsets_of(const ferry_tensor& shape,
                                  const std::array<const int64_t*, N>& strides, int64_t number) {
  std::array<int64_t, N> out{};
  for (uint32_t d = shape.ndim; d-- > 0;) {
    const int64_t at = number % shape.shape[d];
    number /= shape.shape[d];
    for (size_t k = 0; k < N; ++k) out[k] += at * strides[k][d];
  }
  return out;
}

/// FERRY_E_ARG naming the first index outside 0..size-1.
inline hal::Status check_indices(const ferry_tensor& indices, int64_t size, const char* where) {
  const int64_t n = count_of(indices);
  const int64_t* const from = begin_of<const int64_t>(indices);
  std::atomic<int64_t> first{n};
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t v = from[offsets_of<1>(indices, {indices.stride}, i)[0]];
      if (v >= 0 && v < size) continue;
      int64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      break;
    }
  });
  if (first == n) return {};
  const int64_t value = from[offsets_of<1>(indices, {indices.stride}, first)[0]];
  const std::string text = "index " + std::to_string(value) + " at position " +
                           std::to_string(first.load()) + " is outside 0.." +
                           std::to_string(size - 1);
  return hal::fail(FERRY_E_ARG, where, text.c_str());
}

/// Positions beside dimension `axis`, in runs along the last other dimension of
/// `shape`: calls f(number of the first position, length of the run) for all in
/// begin..end-1. Positions count row-major in `shape` with size 1 at `axis`.
template <class F>
void for_each_run(const ferry_tensor& shape, uint32_t axis, int64_t begin, int64_t end,
                  int64_t longest, F&& f) {
  int64_t width = 1;
  for (uint32_t d = shape.ndim; d-- > 0;) {
    if (d == axis) continue;
    width = shape.shape[d];
    break;
  }
  while (begin < end) {
    const int64_t run = std::min({longest, end - begin, width - begin % width});
    f(begin, run);
    begin += run;
  }
}

/// The last dimension that is not `axis`; `axis` itself where there is none.
inline uint32_t inner_dim(const ferry_tensor& shape, uint32_t axis) {
  if (shape.ndim < 2) return axis;
  return axis == shape.ndim - 1 ? shape.ndim - 2 : shape.ndim - 1;
}

}  // namespace ferry::cpu

#endif  // FERRY_CPU_INDICES_H
