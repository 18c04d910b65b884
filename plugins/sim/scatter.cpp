// SPDX-License-Identifier: Apache-2.0
//
// scatter/1: every index is looked at before anything is written.
#include <cstring>
#include <string>

#include "evaluate.h"

namespace ferry::sim {
namespace {

template <class C>
C combine(uint32_t op, C a, C b) {
  switch (op) {
    case FERRY_SCATTER_ADD:
      return apply<C>(FERRY_OP_ADD, a, b, C(0));
    case FERRY_SCATTER_MUL:
      return apply<C>(FERRY_OP_MUL, a, b, C(0));
    case FERRY_SCATTER_MAX:
      return apply<C>(FERRY_OP_MAXIMUM, a, b, C(0));
    default:
      return apply<C>(FERRY_OP_MINIMUM, a, b, C(0));
  }
}

class ScatterKernel final : public SimKernel {
 public:
  ScatterKernel()
      : SimKernel({FERRY_FAMILY_SCATTER, kAllDtypes,
                   FERRY_KERNEL_STRIDED | FERRY_KERNEL_INPLACE | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_scatter_attr>(call);
    const bool known = attr != nullptr && attr->mode <= FERRY_SCATTER_ELEMENT &&
                       attr->op <= FERRY_SCATTER_MIN && call.in[1].dtype == FERRY_I64 &&
                       call.map == nullptr;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    const auto& attr = job.attr_as<ferry_scatter_attr>();
    const ferry_tensor& y = job.out[0].tensor;
    const std::vector<int64_t> indices = gather_all<int64_t>(job.in[1]);
    const int64_t size = y.shape[attr.axis];
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= 0 && indices[i] < size) continue;
      return {FERRY_E_ARG, "index " + std::to_string(indices[i]) + " at position " +
                               std::to_string(i) + " is outside 0.." + std::to_string(size - 1)};
    }
    copy_all(job.in[0], job.out[0]);
    if (attr.op == FERRY_SCATTER_ASSIGN) {
      const uint64_t item = item_size(y.dtype);
      for_each_target(job, attr, indices, [&](int64_t to, int64_t from) {
        std::memcpy(job.out[0].data + to * static_cast<int64_t>(item),
                    job.in[2].data + from * static_cast<int64_t>(item), item);
      });
      return {};
    }
    with_compute(compute_of(y.dtype), [&](auto zero) {
      using C = decltype(zero);
      const Elements<C> out(job.out[0]), source(job.in[2]);
      for_each_target(job, attr, indices, [&](int64_t to, int64_t from) {
        out.set(to, combine<C>(attr.op, out.get(to), source.get(from)));
      });
    });
    return {};
  }

 private:
  static void copy_all(const View& x, const View& y) {
    if (x.data == y.data) return;
    const auto item = static_cast<int64_t>(item_size(y.tensor.dtype));
    Index element(y.tensor);
    for (int64_t n = y.numel(); n > 0; --n, element.advance()) {
      std::memcpy(y.data + element.offset_in(y.tensor) * item,
                  x.data + element.offset_in(x.tensor) * item, static_cast<size_t>(item));
    }
  }

  /// f(offset in the output, offset in the source) for each source.
  template <class F>
  static void for_each_target(const Job& job, const ferry_scatter_attr& attr,
                              const std::vector<int64_t>& indices, F&& f) {
    const ferry_tensor& y = job.out[0].tensor;
    const ferry_tensor& s = job.in[2].tensor;
    Index element(s);
    const int64_t n = job.in[2].numel();
    for (int64_t i = 0; i < n; ++i, element.advance()) {
      const int64_t chosen = attr.mode == FERRY_SCATTER_SELECT
                                 ? indices[static_cast<size_t>(element.at()[attr.axis])]
                                 : indices[static_cast<size_t>(i)];
      int64_t to = 0;
      for (uint32_t d = 0; d < y.ndim; ++d) {
        to += (d == attr.axis ? chosen : element.at()[d]) * y.stride[d];
      }
      f(to, element.offset_in(s));
    }
  }
};

}  // namespace

const hal::Kernel& scatter_kernel() {
  static const auto* const kernel = new ScatterKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
