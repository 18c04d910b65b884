// SPDX-License-Identifier: Apache-2.0
//
// pool/1: each output looks at its window.
#include <limits>

#include "evaluate.h"
#include "window.h"

namespace ferry::sim {
namespace {

class PoolKernel final : public SimKernel {
 public:
  PoolKernel()
      : SimKernel(
            {FERRY_FAMILY_POOL, kFloatDtypes, FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_pool_attr>(call);
    const bool known = attr != nullptr && attr->spatial >= 1 && attr->spatial <= 3 &&
                       attr->op <= FERRY_POOL_AVERAGE;
    return known && call.map == nullptr ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    const auto& attr = job.attr_as<ferry_pool_attr>();
    const ferry_tensor& y = job.out[0].tensor;
    const Axes axes = axes_of(attr, job.in[0].tensor.shape, y.shape, attr.kernel);
    const std::vector<double> in = gather_all<double>(job.in[0]);
    const int64_t in_size = axes[0].in * axes[1].in * axes[2].in;
    const int64_t planes = y.shape[0] * y.shape[1];
    const Elements<double> to(job.out[0]);
    Index element(y);
    for (int64_t p = 0; p < planes; ++p) {
      for (int64_t z = 0; z < axes[0].out; ++z) {
        for (int64_t row = 0; row < axes[1].out; ++row) {
          for (int64_t x = 0; x < axes[2].out; ++x) {
            to.set(element.offset_in(y), window(attr, axes, in.data() + p * in_size, {z, row, x}));
            element.advance();
          }
        }
      }
    }
    return {};
  }

 private:
  static double window(const ferry_pool_attr& attr, const Axes& axes, const double* plane,
                       const std::array<int64_t, 3>& o) {
    double largest = -std::numeric_limits<double>::infinity();
    double total = 0;
    int64_t count = 0;
    for (int64_t kz = 0; kz < axes[0].kernel; ++kz) {
      for (int64_t ky = 0; ky < axes[1].kernel; ++ky) {
        for (int64_t kx = 0; kx < axes[2].kernel; ++kx) {
          const int64_t z = axes[0].at(o[0], kz);
          const int64_t y = axes[1].at(o[1], ky);
          const int64_t x = axes[2].at(o[2], kx);
          if (!axes[0].inside(z) || !axes[1].inside(y) || !axes[2].inside(x)) continue;
          const double v = plane[(z * axes[1].in + y) * axes[2].in + x];
          if (v != v || v > largest) largest = largest != largest ? largest : v;
          total += v;
          ++count;
        }
      }
    }
    if (attr.op == FERRY_POOL_MAX) return largest;
    if (attr.count_include_pad != 0) {
      count = axes[0].padded(o[0]) * axes[1].padded(o[1]) * axes[2].padded(o[2]);
    }
    return total / static_cast<double>(count);
  }
};

}  // namespace

const hal::Kernel& pool_kernel() {
  static const auto* const kernel = new PoolKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
