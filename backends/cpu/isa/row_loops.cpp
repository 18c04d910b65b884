// SPDX-License-Identifier: Apache-2.0
//
// Whole rows at a time, which stay in the nearest cache between the passes:
// softmax and layer normalisation.
#include "isa/isa_text.h"

#include <cstdint>
#include <type_traits>

#include "isa/fast_math.h"
#include "isa/fill_tables.h"
#include "isa/float_sums.h"

namespace ferry::cpu::FERRY_CPU_ISA {
namespace {

constexpr int64_t kLanes = 16;

/// NaN where there is one.
template <class T>
T largest_of(const T* x, int64_t n) {
  T lanes[kLanes];
  for (T& lane : lanes) lane = -static_cast<T>(__builtin_huge_val());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      const T v = x[i + k];
      lanes[k] = lanes[k] != lanes[k] || lanes[k] > v ? lanes[k] : v;
    }
  }
  T out = lanes[0];
  for (const T lane : lanes) out = sdk::math::fm_max(out, lane);
  for (; i < n; ++i) out = sdk::math::fm_max(out, x[i]);
  return out;
}

/// The sum of (x_i - centre)^power, power being 1 or 2.
template <int kPower, class T>
double power_sum(const T* x, int64_t n, double centre) {
  double total = 0;
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    i = n / 32 * 32;
    total = sum_of(x, i, [&](Doubles& v) {
      v -= centre;
      if (kPower == 2) v *= v;
    });
  }
  for (; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - centre;
    total += kPower == 1 ? d : d * d;
  }
  return total;
}

template <class T>
void softmax_row(void* out_, const void* x_, int64_t n, bool logarithm) {
  using namespace words;  // NOLINT(google-build-using-namespace)
  T* const out = static_cast<T*>(out_);
  const T* const x = static_cast<const T*>(x_);
  const T m = largest_of(x, n);
  if (logarithm) {
    double total = 0;
    T powers[kLanes * 8];
    for (int64_t i = 0; i < n; i += kLanes * 8) {
      const int64_t some = n - i < kLanes * 8 ? n - i : kLanes * 8;
      for (int64_t k = 0; k < some; ++k) powers[k] = exp(x[i + k] - m);
      total += power_sum<1>(powers, some, 0);
    }
    const T log_total = static_cast<T>(sdk::math::log(total));
    FERRY_CPU_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - m) - log_total;
    return;
  }
  FERRY_CPU_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = exp(x[i] - m);
  const T total = static_cast<T>(power_sum<1>(out, n, 0));
  for (int64_t i = 0; i < n; ++i) out[i] = out[i] / total;
}

template <class T>
void layer_norm_row(void* out_, const void* x_, const void* weight_, const void* bias_, int64_t n,
                    double eps, bool rms) {
  T* const out = static_cast<T*>(out_);
  const T* const x = static_cast<const T*>(x_);
  const T* const weight = static_cast<const T*>(weight_);
  const T* const bias = static_cast<const T*>(bias_);
  const auto count = static_cast<double>(n);
  const double mean = rms ? 0.0 : power_sum<1>(x, n, 0) / count;
  const double squares = power_sum<2>(x, n, mean);
  const T factor = static_cast<T>(1.0 / sdk::math::sqrt(squares / count + eps));
  const T centre = static_cast<T>(mean);
  if (weight != nullptr && bias != nullptr) {
    FERRY_CPU_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - centre) * factor * weight[i] + bias[i];
  } else if (weight != nullptr) {
    FERRY_CPU_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - centre) * factor * weight[i];
  } else {
    FERRY_CPU_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      out[i] = (x[i] - centre) * factor + (bias != nullptr ? bias[i] : T(0));
    }
  }
}

}  // namespace

void fill_row_loops(Loops& loops) {
  loops.softmax[kFloat] = &softmax_row<float>;
  loops.softmax[kDouble] = &softmax_row<double>;
  loops.layer_norm[kFloat] = &layer_norm_row<float>;
  loops.layer_norm[kDouble] = &layer_norm_row<double>;
}

}  // namespace ferry::cpu::FERRY_CPU_ISA
