// SPDX-License-Identifier: Apache-2.0
//
// scan/1: running sums and products, of floating dtypes in double.
#include "scan.h"

#include <algorithm>
#include <type_traits>

#include "ferry/sdk/convert.h"
#include "indices.h"
#include "isa.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

/// Positions that go along the axis together, with an accumulator each.
constexpr int64_t kRun = 64;

/// S to O by way of A, in which integers wrap.
template <class S, class O, class A, class Step>
void scan(const ferry_call& call, const ferry_scan_attr& attr, A start, Step step) {
  using C = std::conditional_t<std::is_integral_v<A>, int64_t, A>;
  const ferry_tensor& x = call.in[0];
  const ferry_tensor& out = call.out[0];
  const S* const from = begin_of<const S>(x);
  O* const to = begin_of<O>(out);
  const uint32_t axis = attr.axis;
  ferry_tensor lines = x;
  lines.shape[axis] = 1;
  const int64_t length = x.shape[axis];
  const uint32_t inner = inner_dim(lines, axis);
  const int64_t longest = x.stride[inner] == 1 ? kRun : 1;
  const int64_t grain = std::max<int64_t>(1, kGrain / length);
  parallel_for(count_of(lines), grain, [&](int64_t begin, int64_t end) {
    for_each_run(lines, axis, begin, end, longest, [&](int64_t first, int64_t run) {
      A totals[kRun];
      std::fill(totals, totals + run, start);
      const auto at = offsets_of<2>(lines, {x.stride, out.stride}, first);
      for (int64_t i = 0; i < length; ++i) {
        const S* const source = from + at[0] + i * x.stride[axis];
        O* const target = to + at[1] + i * out.stride[axis];
        for (int64_t k = 0; k < run; ++k) {
          const C value = sdk::load_as<C>(source[k * x.stride[inner]]);
          totals[k] = step(totals[k], static_cast<A>(value));
          target[k * out.stride[inner]] = sdk::store_as<O>(static_cast<C>(totals[k]));
        }
      }
    });
  });
}

template <class S>
void scan_dtype(const ferry_call& call, const ferry_scan_attr& attr) {
  constexpr bool kInteger = std::is_integral_v<S> || std::is_same_v<S, sdk::Bool>;
  using O = std::conditional_t<kInteger, int64_t, S>;
  using A = std::conditional_t<kInteger, uint64_t, double>;
  if (attr.op == FERRY_SCAN_SUM) {
    scan<S, O, A>(call, attr, A(0), [](A a, A b) { return a + b; });
  } else {
    scan<S, O, A>(call, attr, A(1), [](A a, A b) { return a * b; });
  }
}

class ScanKernel final : public hal::Kernel {
 public:
  ScanKernel()
      : Kernel({FERRY_FAMILY_SCAN, (UINT64_C(1) << kDtypeCount) - 1,
                FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = static_cast<const ferry_scan_attr*>(call.attr);
    const uint32_t dtype = call.in[0].dtype;
    const uint32_t wanted = dtype >= FERRY_F16 ? dtype : uint32_t{FERRY_I64};
    const bool known =
        attr != nullptr && attr->op <= FERRY_SCAN_PROD && call.out[0].dtype == wanted;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    const auto& attr = *static_cast<const ferry_scan_attr*>(call.attr);
    sdk::visit_dtype(call.in[0].dtype, [&](auto tag) { scan_dtype<decltype(tag)>(call, attr); });
    return {};
  }
};

}  // namespace

const hal::Kernel& scan_kernel() {
  static const auto* const kernel = new ScanKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
