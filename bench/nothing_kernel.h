// SPDX-License-Identifier: Apache-2.0
//
// A kernel that counts its calls, on both sides of the boundary.
#ifndef FERRY_BENCH_NOTHING_KERNEL_H
#define FERRY_BENCH_NOTHING_KERNEL_H

#include "ferry/hal/kernel.h"

namespace ferry::bench {

class NothingKernel final : public hal::Kernel {
 public:
  NothingKernel() : hal::Kernel({"nothing/1", ~uint64_t{0}, 0}) {}
  hal::Status launch(const ferry_call& call) const override {
    calls_ += call.n_in;
    return {};
  }

 private:
  mutable uint64_t calls_ = 0;
};

}  // namespace ferry::bench

#endif  // FERRY_BENCH_NOTHING_KERNEL_H
