// SPDX-License-Identifier: Apache-2.0
//
// scatter/1: each line along the axis is one thread's, from its first source to
// its last, so that several sources of one place never meet.
#include "scatter.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "ferry/sdk/convert.h"
#include "indices.h"
#include "isa.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

/// The longest piece of a line of memory that is taken along the axis at once.
constexpr int64_t kRun = 1024;

/// out = x, where they are not the same memory.
template <class Item>
void copy_all(const ferry_tensor& x, const ferry_tensor& out) {
  const Item* const from = begin_of<const Item>(x);
  Item* const to = begin_of<Item>(out);
  if (from == to) return;
  parallel_for(count_of(out), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = offsets_of<2>(out, {x.stride, out.stride}, i);
      to[at[1]] = from[at[0]];
    }
  });
}

template <class Item, class Combine>
void scatter(const ferry_call& call, const ferry_scatter_attr& attr, Combine combine) {
  const ferry_tensor& indices = call.in[1];
  const ferry_tensor& source = call.in[2];
  const ferry_tensor& out = call.out[0];
  copy_all<Item>(call.in[0], out);
  std::array<int64_t, FERRY_MAX_DIMS> index_strides{};
  if (attr.mode == FERRY_SCATTER_SELECT) {
    index_strides[attr.axis] = indices.stride[0];
  } else {
    std::copy(indices.stride, indices.stride + FERRY_MAX_DIMS, index_strides.begin());
  }
  const Item* const from = begin_of<const Item>(source);
  const int64_t* const index = begin_of<const int64_t>(indices);
  Item* const to = begin_of<Item>(out);
  const uint32_t axis = attr.axis;
  ferry_tensor lines = source;
  lines.shape[axis] = 1;
  const int64_t length = source.shape[axis];
  const uint32_t inner = inner_dim(lines, axis);
  const int64_t longest = out.stride[inner] == 1 ? kRun : 1;
  const int64_t grain = std::max<int64_t>(1, kGrain / length);
  parallel_for(count_of(lines), grain, [&](int64_t begin, int64_t end) {
    for_each_run(lines, axis, begin, end, longest, [&](int64_t first, int64_t run) {
      const auto at =
          offsets_of<3>(lines, {source.stride, index_strides.data(), out.stride}, first);
      for (int64_t i = 0; i < length; ++i) {
        const Item* const s = from + at[0] + i * source.stride[axis];
        const int64_t* const chosen = index + at[1] + i * index_strides[axis];
        Item* const line = to + at[2];
        for (int64_t k = 0; k < run; ++k) {
          Item& target =
              line[chosen[k * index_strides[inner]] * out.stride[axis] + k * out.stride[inner]];
          target = combine(target, s[k * source.stride[inner]]);
        }
      }
    });
  });
}

void assign(const ferry_call& call, const ferry_scatter_attr& attr) {
  const auto run = [&](auto item) {
    using Item = decltype(item);
    scatter<Item>(call, attr, [](Item, Item s) { return s; });
  };
  switch (item_size(call.out[0].dtype)) {
    case 1:
      return run(uint8_t{});
    case 2:
      return run(uint16_t{});
    case 4:
      return run(uint32_t{});
    default:
      return run(uint64_t{});
  }
}

/// Integers are added and multiplied as u64, which wraps.
template <class S>
constexpr bool kIsInteger = std::is_integral_v<S> || std::is_same_v<S, sdk::Bool>;
template <class S>
using Compute = std::conditional_t<kIsInteger<S>, int64_t,
                                   std::conditional_t<std::is_same_v<S, double>, double, float>>;
template <class C>
using Wrapping = std::conditional_t<std::is_integral_v<C>, uint64_t, C>;

template <class S, class F>
void fold(const ferry_call& call, const ferry_scatter_attr& attr, F f) {
  using C = Compute<S>;
  scatter<S>(call, attr, [f](S a, S b) {
    return sdk::store_as<S>(static_cast<C>(f(sdk::load_as<C>(a), sdk::load_as<C>(b))));
  });
}

template <class S>
void combine(const ferry_call& call, const ferry_scatter_attr& attr) {
  using C = Compute<S>;
  using W = Wrapping<C>;
  switch (attr.op) {
    case FERRY_SCATTER_ADD:
      return fold<S>(call, attr, [](C a, C b) { return static_cast<W>(a) + static_cast<W>(b); });
    case FERRY_SCATTER_MUL:
      return fold<S>(call, attr, [](C a, C b) { return static_cast<W>(a) * static_cast<W>(b); });
    case FERRY_SCATTER_MAX:
      return fold<S>(call, attr, [](C a, C b) { return a != a || a > b ? a : b; });
    default:
      return fold<S>(call, attr, [](C a, C b) { return a != a || a < b ? a : b; });
  }
}

class ScatterKernel final : public hal::Kernel {
 public:
  ScatterKernel()
      : Kernel({FERRY_FAMILY_SCATTER, (UINT64_C(1) << kDtypeCount) - 1,
                FERRY_KERNEL_STRIDED | FERRY_KERNEL_INPLACE | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = static_cast<const ferry_scatter_attr*>(call.attr);
    const bool known = attr != nullptr && attr->mode <= FERRY_SCATTER_ELEMENT &&
                       attr->op <= FERRY_SCATTER_MIN && call.in[1].dtype == FERRY_I64;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    const auto& attr = *static_cast<const ferry_scatter_attr*>(call.attr);
    const hal::Status valid = check_indices(call.in[1], call.out[0].shape[attr.axis], "scatter");
    if (!valid.ok()) return valid;
    if (attr.op == FERRY_SCATTER_ASSIGN) {
      assign(call, attr);
    } else {
      sdk::visit_dtype(call.out[0].dtype, [&](auto tag) { combine<decltype(tag)>(call, attr); });
    }
    return {};
  }
};

}  // namespace

const hal::Kernel& scatter_kernel() {
  static const auto* const kernel = new ScatterKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
