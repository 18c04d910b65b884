// SPDX-License-Identifier: Apache-2.0
//
// First values of parameters: one stream of SplitMix64 numbers a tensor, made
// on the host, so that they are the same for every device and thread.
#include "ferry/nn/init.h"

#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

/// Sebastiano Vigna's SplitMix64.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t state) : state_(state) {}

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// In [0, 1), with the 53 bits of a double.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

struct Seeds {
  std::mutex mutex;
  SplitMix64 source{0};
};
Seeds& seeds() {
  static auto* const object = new Seeds();
  return *object;
}

/// A generator of its own for the next tensor.
SplitMix64 next_stream() {
  Seeds& state = seeds();
  const std::lock_guard lock(state.mutex);
  return SplitMix64(state.source.next());
}

template <class Draw>
Tensor drawn(Sizes shape, Draw draw, const char* where) {
  const int64_t count = ferry::detail::checked_numel(shape, kF32, where);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(draw());
  return from_host(values.data(), kF32, shape, default_device());
}

}  // namespace

void manual_seed(uint64_t seed) {
  Seeds& state = seeds();
  const std::lock_guard lock(state.mutex);
  state.source = SplitMix64(seed);
}

namespace nn {

Tensor uniform(Sizes shape, double bound) {
  SplitMix64 random = next_stream();
  return drawn(
      shape, [&] { return bound * (2 * random.unit() - 1); }, "uniform");
}

Tensor normal(Sizes shape) {
  SplitMix64 random = next_stream();
  // Box and Muller; 1 - unit() is never 0, so the logarithm is finite.
  return drawn(
      shape,
      [&] {
        const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
        return radius * std::cos(2 * std::numbers::pi * random.unit());
      },
      "normal");
}

}  // namespace nn
}  // namespace ferry
