// SPDX-License-Identifier: Apache-2.0
//
// The loops of reductions: folding a tile into one accumulator, or element by
// element into as many, and looking for the first extreme value.
#include "isa/isa_text.h"

#include <cstdint>
#include <type_traits>

#include "ferry/abi/kernel.h"
#include "ferry/sdk/scalar_math.h"
#include "isa/fill_tables.h"
#include "isa/float_sums.h"

namespace ferry::cpu::FERRY_CPU_ISA {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

// How each reduction takes one more value.
struct Sum {
  template <class A>
  static A take(A a, A v) {
    return sdk::math::fm_add(a, v);
  }
};
struct Prod {
  template <class A>
  static A take(A a, A v) {
    return sdk::math::fm_mul(a, v);
  }
};
struct Max {
  template <class A>
  static A take(A a, A v) {
    return sdk::math::fm_max(a, v);
  }
};
struct Min {
  template <class A>
  static A take(A a, A v) {
    return sdk::math::fm_min(a, v);
  }
};
struct Any {
  template <class A>
  static A take(A a, A v) {
    return a != A(0) || v != A(0) ? A(1) : A(0);
  }
};
struct All {
  template <class A>
  static A take(A a, A v) {
    return a != A(0) && v != A(0) ? A(1) : A(0);
  }
};

/// Several accumulators side by side, joined at the end in a fixed order: the
/// compiler keeps them in registers, and a long sum is a sum of sums.
template <class Op, class T>
void fold_loop(void* accumulator, const void* tile_, int64_t n) {
  using A = Wide<T>;
  constexpr int64_t kLanes = 16;
  const T* const tile = static_cast<const T*>(tile_);
  A& total = *static_cast<A*>(accumulator);
  int64_t i = 0;
  if constexpr (std::is_same_v<Op, Sum> && std::is_same_v<T, float>) {
    i = n / 32 * 32;
    if (i > 0) total += sum_of(tile, i, [](Doubles&) {});
  } else if (n >= kLanes) {
    A lanes[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = static_cast<A>(tile[k]);
    if constexpr (std::is_same_v<Op, Any> || std::is_same_v<Op, All>) {
      for (A& lane : lanes) lane = lane != A(0) ? A(1) : A(0);
    }
    for (i = kLanes; i + kLanes <= n; i += kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        lanes[k] = Op::take(lanes[k], static_cast<A>(tile[i + k]));
      }
    }
    for (int64_t width = kLanes / 2; width > 0; width /= 2) {
      for (int64_t k = 0; k < width; ++k) lanes[k] = Op::take(lanes[k], lanes[k + width]);
    }
    total = Op::take(total, lanes[0]);
  }
  for (; i < n; ++i) total = Op::take(total, static_cast<A>(tile[i]));
}

template <class Op, class T>
void columns_loop(void* accumulators, const void* tile_, int64_t n) {
  using A = Wide<T>;
  A* const totals = static_cast<A*>(accumulators);
  const T* const tile = static_cast<const T*>(tile_);
  FERRY_CPU_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) totals[i] = Op::take(totals[i], static_cast<A>(tile[i]));
}

template <class T, bool kLargest>
void arg_loop(void* best_, int64_t* where, const void* tile_, int64_t first, int64_t n) {
  T& best = *static_cast<T*>(best_);
  const T* const tile = static_cast<const T*>(tile_);
  for (int64_t i = 0; i < n; ++i) {
    const T v = tile[i];
    const bool beats = kLargest ? v > best : v < best;
    // NaN beats everything but an earlier NaN.
    if (*where < 0 || (best == best && (beats || v != v))) {
      best = v;
      *where = first + i;
    }
  }
}

template <class T>
void fill(Loops& loops, int compute) {
  loops.fold[compute][FERRY_REDUCE_SUM] = &fold_loop<Sum, T>;
  loops.fold[compute][FERRY_REDUCE_PROD] = &fold_loop<Prod, T>;
  loops.fold[compute][FERRY_REDUCE_MAX] = &fold_loop<Max, T>;
  loops.fold[compute][FERRY_REDUCE_MIN] = &fold_loop<Min, T>;
  loops.fold[compute][FERRY_REDUCE_ANY] = &fold_loop<Any, T>;
  loops.fold[compute][FERRY_REDUCE_ALL] = &fold_loop<All, T>;
  loops.columns[compute][FERRY_REDUCE_SUM] = &columns_loop<Sum, T>;
  loops.columns[compute][FERRY_REDUCE_PROD] = &columns_loop<Prod, T>;
  loops.columns[compute][FERRY_REDUCE_MAX] = &columns_loop<Max, T>;
  loops.columns[compute][FERRY_REDUCE_MIN] = &columns_loop<Min, T>;
  loops.columns[compute][FERRY_REDUCE_ANY] = &columns_loop<Any, T>;
  loops.columns[compute][FERRY_REDUCE_ALL] = &columns_loop<All, T>;
  loops.arg[compute][0] = &arg_loop<T, true>;
  loops.arg[compute][1] = &arg_loop<T, false>;
}

}  // namespace

void fill_reduce_loops(Loops& loops) {
  fill<int32_t>(loops, kInt32);
  fill<int64_t>(loops, kInt64);
  fill<float>(loops, kFloat);
  fill<double>(loops, kDouble);
}

}  // namespace ferry::cpu::FERRY_CPU_ISA
