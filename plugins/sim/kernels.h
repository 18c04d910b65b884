// SPDX-License-Identifier: Apache-2.0
//
// What all simulated kernels share: a launch is copied, queued, and run on
// looked-up memory.
#ifndef FERRY_SIM_KERNELS_H
#define FERRY_SIM_KERNELS_H

#include <cstdint>
#include <vector>

#include "device.h"
#include "ferry/hal/kernel.h"

namespace ferry::sim {

/// A tensor whose memory was found.
struct View {
  char* data = nullptr;
  ferry_tensor tensor{};

  uint32_t ndim() const noexcept { return tensor.ndim; }
  int64_t size(uint32_t d) const noexcept { return tensor.shape[d]; }
  int64_t numel() const noexcept {
    int64_t n = 1;
    for (uint32_t d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
    return n;
  }
};

/// A map program with arrays of its own.
class OwnProgram {
 public:
  explicit OwnProgram(const ferry_program& program);
  const ferry_program& get() const noexcept { return program_; }

 private:
  std::vector<ferry_constant> constants_;
  std::vector<ferry_insn> insns_;
  std::vector<uint16_t> out_;
  ferry_program program_;
};

/// One launch, independent of the host's arrays.
struct Job {
  std::vector<View> in, out;
  std::vector<char> attr;
  std::shared_ptr<const OwnProgram> map;

  template <class Attr>
  const Attr& attr_as() const {
    return *reinterpret_cast<const Attr*>(attr.data());
  }
};

class SimKernel : public hal::Kernel {
 public:
  using Kernel::Kernel;
  hal::Status check(const ferry_call& call) const override;
  hal::Status launch(const ferry_call& call) const final;

 protected:
  /// Does the work, on the stream's thread.
  virtual Outcome run(const Job& job) const = 0;
};

/// The call's attributes, or null where there are none of this kind.
template <class Attr>
const Attr* attr_of(const ferry_call& call) {
  const auto* attr = static_cast<const Attr*>(call.attr);
  return attr != nullptr && attr->size >= sizeof(Attr) ? attr : nullptr;
}

inline constexpr uint64_t kAllDtypes = (uint64_t{1} << 10) - 1;
inline constexpr uint64_t kFloatDtypes = FERRY_DTYPE_BIT(FERRY_F16) | FERRY_DTYPE_BIT(FERRY_BF16) |
                                         FERRY_DTYPE_BIT(FERRY_F32) | FERRY_DTYPE_BIT(FERRY_F64);

/// Walks the positions of a shape in row-major order.
class Index {
 public:
  explicit Index(const ferry_tensor& shape) : shape_(shape) {}
  void advance() noexcept {
    ++number_;
    for (uint32_t d = shape_.ndim; d-- > 0;) {
      if (++at_[d] < shape_.shape[d]) return;
      at_[d] = 0;
    }
  }
  const int64_t* at() const noexcept { return at_; }
  int64_t number() const noexcept { return number_; }
  int64_t offset_in(const ferry_tensor& t) const noexcept {
    int64_t offset = 0;
    for (uint32_t d = 0; d < t.ndim; ++d) offset += at_[d] * t.stride[d];
    return offset;
  }

 private:
  const ferry_tensor& shape_;
  int64_t at_[FERRY_MAX_DIMS] = {};
  int64_t number_ = 0;
};

const hal::Kernel& map_kernel();
const hal::Kernel& reduce_kernel();
const hal::Kernel& matmul_kernel();
const hal::Kernel& conv_kernel();
const hal::Kernel& pool_kernel();
const hal::Kernel& gather_kernel();
const hal::Kernel& softmax_kernel();
const hal::Kernel& layer_norm_kernel();
const hal::Kernel& scatter_kernel();
const hal::Kernel& sort_kernel();
const hal::Kernel& scan_kernel();

}  // namespace ferry::sim

#endif  // FERRY_SIM_KERNELS_H
