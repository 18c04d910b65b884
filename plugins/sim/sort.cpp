// SPDX-License-Identifier: Apache-2.0
//
// sort/1: a stable sort of the positions of each line.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "evaluate.h"

namespace ferry::sim {
namespace {

class SortKernel final : public SimKernel {
 public:
  SortKernel()
      : SimKernel(
            {FERRY_FAMILY_SORT, kAllDtypes, FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const bool known = attr_of<ferry_sort_attr>(call) != nullptr && call.n_out == 2 &&
                       call.out[1].dtype == FERRY_I64 && call.map == nullptr;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    with_compute(compute_of(job.in[0].tensor.dtype),
                 [&](auto zero) { sort_lines<decltype(zero)>(job); });
    return {};
  }

 private:
  template <class C>
  static void sort_lines(const Job& job) {
    const auto& attr = job.attr_as<ferry_sort_attr>();
    const ferry_tensor& x = job.in[0].tensor;
    const ferry_tensor& values = job.out[0].tensor;
    const ferry_tensor& places = job.out[1].tensor;
    const Elements<C> from(job.in[0]);
    const Elements<int64_t> to(job.out[1]);
    const auto item = static_cast<int64_t>(item_size(x.dtype));
    ferry_tensor lines = x;
    lines.shape[attr.axis] = 1;
    std::vector<int64_t> order(static_cast<size_t>(x.shape[attr.axis]));
    Index line(lines);
    const int64_t n = job.in[0].numel() / x.shape[attr.axis];
    for (int64_t i = 0; i < n; ++i, line.advance()) {
      const int64_t first = line.offset_in(x);
      const auto key = [&](int64_t at) { return from.get(first + at * x.stride[attr.axis]); };
      const auto less = [](C a, C b) { return a < b || (b != b && a == a); };
      std::iota(order.begin(), order.end(), int64_t{0});
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return attr.descending != 0 ? less(key(b), key(a)) : less(key(a), key(b));
      });
      for (int64_t k = 0; k < values.shape[attr.axis]; ++k) {
        const int64_t chosen = order[static_cast<size_t>(k)];
        to.set(line.offset_in(places) + k * places.stride[attr.axis], chosen);
        std::memcpy(
            job.out[0].data + (line.offset_in(values) + k * values.stride[attr.axis]) * item,
            job.in[0].data + (first + chosen * x.stride[attr.axis]) * item,
            static_cast<size_t>(item));
      }
    }
  }
};

}  // namespace

const hal::Kernel& sort_kernel() {
  static const auto* const kernel = new SortKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
