// SPDX-License-Identifier: Apache-2.0
//
// Kernel: one implementation of a kernel family for some dtypes.
#ifndef FERRY_HAL_KERNEL_H
#define FERRY_HAL_KERNEL_H

#include "ferry/hal/status.h"

namespace ferry::hal {

/// What a kernel is, fixed for its life.
struct KernelTraits {
  const char* family;  ///< FERRY_FAMILY_MAP, or "acme.fft/1"; a literal
  uint64_t dtypes;     ///< mask of FERRY_DTYPE_BIT
  uint32_t flags = 0;  ///< FERRY_KERNEL_
};

/// Thread-safe: several threads may launch one kernel on several streams.
class Kernel {
 public:
  explicit Kernel(KernelTraits traits) noexcept : traits_(traits) {}
  virtual ~Kernel() = default;

  const KernelTraits& traits() const noexcept { return traits_; }

  /// FERRY_OK where this kernel takes the call, FERRY_DECLINED where not. Looks
  /// at shapes, dtypes, attributes and the program only. What it accepts,
  /// launch() must do.
  virtual Status check(const ferry_call& call) const {
    (void)call;
    return Status();
  }
  /// Bytes of scratch memory that launch() needs for this call.
  virtual uint64_t scratch(const ferry_call& call) const {
    (void)call;
    return 0;
  }
  /// Starts the work on call.stream, or does it when that is null.
  virtual Status launch(const ferry_call& call) const = 0;

 private:
  KernelTraits traits_;
};

}  // namespace ferry::hal

#endif  // FERRY_HAL_KERNEL_H
