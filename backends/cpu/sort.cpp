// SPDX-License-Identifier: Apache-2.0
//
// sort/1: keys and their positions are sorted, by both, so that the order of
// equal elements is theirs whatever the algorithm.
#include "sort.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ferry/sdk/convert.h"
#include "indices.h"
#include "isa.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

template <class S>
using Key = std::conditional_t<std::is_arithmetic_v<S>, S,
                               std::conditional_t<std::is_same_v<S, sdk::Bool>, int32_t, float>>;

template <class K>
struct Entry {
  K key;
  int64_t at;
};

/// NaN is the largest.
template <class K>
bool is_less(K a, K b) {
  return a < b || (b != b && a == a);
}

/// The first `kept` entries in order.
template <class K>
void sort_entries(std::vector<Entry<K>>& entries, size_t kept, bool descending) {
  const auto before = [descending](const Entry<K>& a, const Entry<K>& b) {
    if (is_less(a.key, b.key)) return !descending;
    if (is_less(b.key, a.key)) return descending;
    return a.at < b.at;
  };
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(kept);
  if (kept < entries.size()) std::nth_element(entries.begin(), end, entries.end(), before);
  std::sort(entries.begin(), end, before);
}

template <class S>
void sort(const ferry_call& call, const ferry_sort_attr& attr) {
  const ferry_tensor& x = call.in[0];
  const ferry_tensor& values = call.out[0];
  const ferry_tensor& places = call.out[1];
  const S* const from = begin_of<const S>(x);
  S* const to = begin_of<S>(values);
  int64_t* const at = begin_of<int64_t>(places);
  const uint32_t axis = attr.axis;
  const int64_t length = x.shape[axis];
  const int64_t kept = values.shape[axis];
  ferry_tensor lines = x;
  lines.shape[axis] = 1;
  const int64_t grain = std::max<int64_t>(1, kGrain / 8 / length);
  parallel_for(count_of(lines), grain, [&](int64_t begin, int64_t end) {
    std::vector<Entry<Key<S>>> entries(static_cast<size_t>(length));
    for (int64_t line = begin; line < end; ++line) {
      const auto offset = offsets_of<3>(lines, {x.stride, values.stride, places.stride}, line);
      for (int64_t i = 0; i < length; ++i) {
        entries[static_cast<size_t>(i)] = {
            sdk::load_as<Key<S>>(from[offset[0] + i * x.stride[axis]]), i};
      }
      sort_entries(entries, static_cast<size_t>(kept), attr.descending != 0);
      for (int64_t i = 0; i < kept; ++i) {
        const int64_t chosen = entries[static_cast<size_t>(i)].at;
        to[offset[1] + i * values.stride[axis]] = from[offset[0] + chosen * x.stride[axis]];
        at[offset[2] + i * places.stride[axis]] = chosen;
      }
    }
  });
}

class SortKernel final : public hal::Kernel {
 public:
  SortKernel()
      : Kernel({FERRY_FAMILY_SORT, (UINT64_C(1) << kDtypeCount) - 1,
                FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const bool known = call.attr != nullptr && call.n_out == 2 && call.out[1].dtype == FERRY_I64;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    const auto& attr = *static_cast<const ferry_sort_attr*>(call.attr);
    sdk::visit_dtype(call.in[0].dtype, [&](auto tag) { sort<decltype(tag)>(call, attr); });
    return {};
  }
};

}  // namespace

const hal::Kernel& sort_kernel() {
  static const auto* const kernel = new SortKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
