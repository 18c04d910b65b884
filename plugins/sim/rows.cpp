// SPDX-License-Identifier: Apache-2.0
//
// softmax/1 and layer_norm/1, in double from the definitions.
#include <cmath>
#include <limits>

#include "evaluate.h"

namespace ferry::sim {
namespace {

class SoftmaxKernel final : public SimKernel {
 public:
  SoftmaxKernel() : SimKernel({FERRY_FAMILY_SOFTMAX, kFloatDtypes, FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_softmax_attr>(call);
    const bool known = attr != nullptr && attr->axis < call.in[0].ndim && call.map == nullptr;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    const auto& attr = job.attr_as<ferry_softmax_attr>();
    std::vector<double> values = gather_all<double>(job.in[0]);
    const int64_t n = job.in[0].size(attr.axis);
    int64_t inner = 1;
    for (uint32_t d = attr.axis + 1; d < job.in[0].ndim(); ++d) inner *= job.in[0].size(d);
    const auto rows = static_cast<int64_t>(values.size()) / n;
    for (int64_t row = 0; row < rows; ++row) {
      double* const first = values.data() + row / inner * n * inner + row % inner;
      double m = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < n; ++i) {
        const double v = first[i * inner];
        m = std::isnan(m) || m > v ? m : v;
      }
      double total = 0;
      for (int64_t i = 0; i < n; ++i) total += std::exp(first[i * inner] - m);
      for (int64_t i = 0; i < n; ++i) {
        double& v = first[i * inner];
        v = attr.logarithm != 0 ? v - m - std::log(total) : std::exp(v - m) / total;
      }
    }
    store_all(job.out[0], values);
    return {};
  }
};

class LayerNormKernel final : public SimKernel {
 public:
  LayerNormKernel()
      : SimKernel({FERRY_FAMILY_LAYER_NORM, kFloatDtypes, FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_layer_norm_attr>(call);
    const bool known = attr != nullptr && attr->dims <= call.in[0].ndim && call.map == nullptr;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    const auto& attr = job.attr_as<ferry_layer_norm_attr>();
    std::vector<double> values = gather_all<double>(job.in[0]);
    int64_t n = 1;
    const uint32_t ndim = job.in[0].ndim();
    for (uint32_t d = ndim - attr.dims; d < ndim; ++d) n *= job.in[0].size(d);
    std::vector<double> weight(static_cast<size_t>(n), 1.0), bias(static_cast<size_t>(n), 0.0);
    size_t next = 1;
    if ((attr.flags & FERRY_LAYER_NORM_WEIGHT) != 0) weight = gather_all<double>(job.in[next++]);
    if ((attr.flags & FERRY_LAYER_NORM_BIAS) != 0) bias = gather_all<double>(job.in[next]);
    const bool rms = (attr.flags & FERRY_LAYER_NORM_RMS) != 0;
    for (size_t begin = 0; begin < values.size(); begin += weight.size()) {
      double* const row = values.data() + begin;
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < n && !rms; ++i) mean += row[i] / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) squares += (row[i] - mean) * (row[i] - mean);
      const double factor = 1 / std::sqrt(squares / static_cast<double>(n) + attr.eps);
      for (size_t i = 0; i < weight.size(); ++i) {
        row[i] = (row[i] - mean) * factor * weight[i] + bias[i];
      }
    }
    store_all(job.out[0], values);
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

}  // namespace ferry::sim
