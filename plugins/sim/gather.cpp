// SPDX-License-Identifier: Apache-2.0
//
// gather/1: every index is looked at before anything is written.
#include <cstring>
#include <string>

#include "evaluate.h"

namespace ferry::sim {
namespace {

class GatherKernel final : public SimKernel {
 public:
  GatherKernel()
      : SimKernel(
            {FERRY_FAMILY_GATHER, kAllDtypes, FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_gather_attr>(call);
    const bool known = attr != nullptr && attr->mode <= FERRY_GATHER_ELEMENT &&
                       call.in[1].dtype == FERRY_I64 && call.map == nullptr;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    const auto& attr = job.attr_as<ferry_gather_attr>();
    const ferry_tensor& x = job.in[0].tensor;
    const ferry_tensor& y = job.out[0].tensor;
    const std::vector<int64_t> indices = gather_all<int64_t>(job.in[1]);
    const int64_t size = x.shape[attr.axis];
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= 0 && indices[i] < size) continue;
      return {FERRY_E_ARG, "index " + std::to_string(indices[i]) + " at position " +
                               std::to_string(i) + " is outside 0.." + std::to_string(size - 1)};
    }
    const uint64_t item = item_size(x.dtype);
    Index element(y);
    const int64_t n = job.out[0].numel();
    for (int64_t i = 0; i < n; ++i, element.advance()) {
      const int64_t chosen = attr.mode == FERRY_GATHER_SELECT
                                 ? indices[static_cast<size_t>(element.at()[attr.axis])]
                                 : indices[static_cast<size_t>(i)];
      int64_t from = 0;
      for (uint32_t d = 0; d < x.ndim; ++d) {
        from += (d == attr.axis ? chosen : element.at()[d]) * x.stride[d];
      }
      std::memcpy(job.out[0].data + element.offset_in(y) * static_cast<int64_t>(item),
                  job.in[0].data + from * static_cast<int64_t>(item), item);
    }
    return {};
  }
};

}  // namespace

const hal::Kernel& gather_kernel() {
  static const auto* const kernel = new GatherKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
