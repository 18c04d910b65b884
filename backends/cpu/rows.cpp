// SPDX-License-Identifier: Apache-2.0
//
// softmax/1 and layer_norm/1: rows shared out among the threads; halves pass
// through a row of floats.
#include "rows.h"

#include <algorithm>
#include <vector>

#include "isa.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

constexpr uint64_t kFloating = FERRY_DTYPE_BIT(FERRY_F16) | FERRY_DTYPE_BIT(FERRY_BF16) |
                               FERRY_DTYPE_BIT(FERRY_F32) | FERRY_DTYPE_BIT(FERRY_F64);
/// Elements of work that pay for another thread.
constexpr int64_t kGrain = 16384;

char* address(const ferry_tensor& t) {
  return reinterpret_cast<char*>(t.at.memory.handle + t.at.offset);
}

/// Elements of the last dimensions, beginning with `first`.
int64_t row_length(const ferry_tensor& t, uint32_t first) {
  int64_t n = 1;
  for (uint32_t d = first; d < t.ndim; ++d) n *= t.shape[d];
  return n;
}

/// Calls f(out, x) for every row of n elements, in the compute type.
template <class F>
void for_rows(const ferry_tensor& out, const ferry_tensor& x, int64_t n, F&& f) {
  const int own = compute_index(x.dtype);
  const int compute = own >= 0 ? own : static_cast<int>(kFloat);
  const int64_t item = item_size(x.dtype);
  const int64_t rows = row_length(x, 0) / n;
  parallel_for(rows, std::max<int64_t>(1, kGrain / n), [&](int64_t begin, int64_t end) {
    std::vector<float> row(own >= 0 ? 0 : static_cast<size_t>(n));
    for (int64_t r = begin; r < end; ++r) {
      char* const from = address(x) + r * n * item;
      char* const to = address(out) + r * n * item;
      if (own >= 0) {
        f(to, from);
        continue;
      }
      loops().load[x.dtype][compute](row.data(), from, 1, n);
      f(row.data(), row.data());
      loops().store[x.dtype][compute](to, 1, row.data(), n);
    }
  });
}

class SoftmaxKernel final : public hal::Kernel {
 public:
  SoftmaxKernel()
      : Kernel(
            {FERRY_FAMILY_SOFTMAX, kFloating, FERRY_KERNEL_INPLACE | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = static_cast<const ferry_softmax_attr*>(call.attr);
    if (attr == nullptr || call.map != nullptr) return hal::Status(FERRY_DECLINED);
    const ferry_tensor& x = call.in[0];
    const bool fits = attr->axis < x.ndim && row_length(x, attr->axis + 1) == 1;
    return fits ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    const auto& attr = *static_cast<const ferry_softmax_attr*>(call.attr);
    const ferry_tensor& x = call.in[0];
    const SoftmaxLoop loop = loops().softmax[x.dtype == FERRY_F64 ? kDouble : kFloat];
    const int64_t n = x.shape[attr.axis];
    for_rows(call.out[0], x, n,
             [&](void* to, const void* from) { loop(to, from, n, attr.logarithm != 0); });
    return {};
  }
};

class LayerNormKernel final : public hal::Kernel {
 public:
  LayerNormKernel()
      : Kernel({FERRY_FAMILY_LAYER_NORM, kFloating,
                FERRY_KERNEL_INPLACE | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = static_cast<const ferry_layer_norm_attr*>(call.attr);
    const bool fits = attr != nullptr && call.map == nullptr && attr->dims <= call.in[0].ndim;
    return fits ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    const auto& attr = *static_cast<const ferry_layer_norm_attr*>(call.attr);
    const ferry_tensor& x = call.in[0];
    const int compute = x.dtype == FERRY_F64 ? kDouble : kFloat;
    const int64_t n = row_length(x, x.ndim - attr.dims);
    std::vector<float> wide[2];
    const void* factors[2] = {nullptr, nullptr};  // weight, bias
    uint32_t next = 1;
    for (uint32_t k = 0; k < 2; ++k) {
      if ((attr.flags >> k & 1) == 0) continue;
      const ferry_tensor& t = call.in[next++];
      factors[k] = address(t);
      if (compute_index(t.dtype) >= 0) continue;
      wide[k].resize(static_cast<size_t>(n));
      loops().load[t.dtype][compute](wide[k].data(), address(t), 1, n);
      factors[k] = wide[k].data();
    }
    const LayerNormLoop loop = loops().layer_norm[compute];
    const bool rms = (attr.flags & FERRY_LAYER_NORM_RMS) != 0;
    for_rows(call.out[0], x, n, [&](void* to, const void* from) {
      loop(to, from, factors[0], factors[1], n, attr.eps, rms);
    });
    return {};
  }
};

}  // namespace

const hal::Kernel& softmax_kernel() {
  static const auto* const kernel = new SoftmaxKernel();  // outlives work in flight at exit
  return *kernel;
}

const hal::Kernel& layer_norm_kernel() {
  static const auto* const kernel = new LayerNormKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
