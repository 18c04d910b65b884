// SPDX-License-Identifier: Apache-2.0
//
// scan/1, in i64 and double from the definition.
#include "evaluate.h"

namespace ferry::sim {
namespace {

class ScanKernel final : public SimKernel {
 public:
  ScanKernel()
      : SimKernel(
            {FERRY_FAMILY_SCAN, kAllDtypes, FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_scan_attr>(call);
    const uint32_t dtype = call.in[0].dtype;
    const uint32_t wanted = dtype >= FERRY_F16 ? dtype : uint32_t{FERRY_I64};
    const bool known = attr != nullptr && attr->op <= FERRY_SCAN_PROD && call.map == nullptr &&
                       call.out[0].dtype == wanted;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    if (job.in[0].tensor.dtype >= FERRY_F16) {
      scan<double>(job);
    } else {
      scan<int64_t>(job);
    }
    return {};
  }

 private:
  template <class C>
  static void scan(const Job& job) {
    const auto& attr = job.attr_as<ferry_scan_attr>();
    const ferry_tensor& x = job.in[0].tensor;
    const ferry_tensor& y = job.out[0].tensor;
    const Elements<C> from(job.in[0]), to(job.out[0]);
    const uint16_t op = attr.op == FERRY_SCAN_SUM ? FERRY_OP_ADD : FERRY_OP_MUL;
    ferry_tensor lines = x;
    lines.shape[attr.axis] = 1;
    Index line(lines);
    const int64_t n = job.in[0].numel() / x.shape[attr.axis];
    for (int64_t i = 0; i < n; ++i, line.advance()) {
      C total = attr.op == FERRY_SCAN_SUM ? C(0) : C(1);
      for (int64_t k = 0; k < x.shape[attr.axis]; ++k) {
        total = apply<C>(op, total, from.get(line.offset_in(x) + k * x.stride[attr.axis]), C(0));
        to.set(line.offset_in(y) + k * y.stride[attr.axis], total);
      }
    }
  }
};

}  // namespace

const hal::Kernel& scan_kernel() {
  static const auto* const kernel = new ScanKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
