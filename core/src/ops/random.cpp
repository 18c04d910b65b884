// SPDX-License-Identifier: Apache-2.0
//
// Random tensors: elements made on the host from the generator's words.
#include "ferry/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ferry/sdk/convert.h"
#include "ferry/stream.h"
#include "ops/random_words.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

using ops::RandomWords;

void require_floating(DType dtype, const char* where) {
  if (is_floating_point(dtype)) return;
  throw InvalidArgument(where, "not defined for " + std::string(name(dtype)) +
                                   "; give a floating dtype, such as ferry::kF32");
}

/// Bits of a number in [0, 1) that every such number of the dtype has.
int places_of(DType dtype) {
  return dtype == kF64 ? 53 : dtype == kF32 ? 24 : dtype == kF16 ? 11 : 8;
}

/// The top `places` bits as a fraction: never 1, also after rounding to a dtype
/// of so many places.
double fraction(uint64_t bits, int places) {
  return std::ldexp(static_cast<double>(bits >> (64 - places)), -places);
}

/// Both halves of the bits serve: one for the radius, one for the angle.
double normal_of(uint64_t bits) {
  const double u = (static_cast<double>(bits & 0xffffffff) + 1) * 0x1p-32;  // never 0
  const double v = static_cast<double>(bits >> 32) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// floor(bits * range / 2^64), by halves: C++ has no wider integer everywhere.
uint64_t below(uint64_t bits, uint64_t range) {
  const uint64_t a = bits >> 32, b = bits & 0xffffffff, c = range >> 32, d = range & 0xffffffff;
  const uint64_t middle = a * d + (b * d >> 32);
  const uint64_t other = b * c + (middle & 0xffffffff);
  return a * c + (middle >> 32) + (other >> 32);
}

/// P(N <= z) of the normal distribution.
double normal_below(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// The z of which normal_below(z) is p, 0 < p < 1: by halving, then Newton.
double normal_at(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 24; ++i) {
    const double middle = (low + high) / 2;
    (normal_below(middle) < p ? low : high) = middle;
  }
  double z = (low + high) / 2;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  if (density > 0) z = std::clamp(z - (normal_below(z) - p) / density, low, high);
  return z;
}

/// A CPU tensor of `dtype` with element i = f(bits of element i).
template <class F>
Tensor drawn(ShapeRef shape, DType dtype, Generator& g, const char* where, F&& f) {
  const int64_t count = detail::checked_numel(shape, dtype, where);
  Tensor out = empty(shape, TensorOptions(dtype, Device()));
  if (count == 0) return out;
  RandomWords words(g.advance(static_cast<uint64_t>(count)));
  sdk::visit_dtype(static_cast<ferry_dtype>(dtype), [&](auto tag) {
    using S = decltype(tag);
    S* const to = static_cast<S*>(out.data_ptr());
    // The halves round once from double to float before; no draw is so fine.
    for (int64_t i = 0; i < count; ++i) {
      const auto value = f(words.next());
      if constexpr (std::is_floating_point_v<decltype(value)> && sizeof(S) < 4) {
        to[i] = sdk::store_as<S>(static_cast<float>(value));
      } else {
        to[i] = sdk::store_as<S>(value);
      }
    }
  });
  return out;
}

/// Where the options want it.
Tensor placed(const Tensor& made, const TensorOptions& options) {
  const Device device = options.device ? *options.device : current_device();
  Tensor out = device.is_cpu() ? made : made.to(device);
  return options.pin_memory && device.is_cpu() ? out.pin_memory() : out;
}

Tensor uniform_on_host(ShapeRef shape, DType dtype, Generator& g, const char* where) {
  require_floating(dtype, where);
  const int places = places_of(dtype);
  return drawn(shape, dtype, g, where, [=](uint64_t bits) { return fraction(bits, places); });
}

Tensor normal_on_host(ShapeRef shape, DType dtype, Generator& g, const char* where) {
  require_floating(dtype, where);
  return drawn(shape, dtype, g, where, normal_of);
}

void require_probability(double p, const char* where) {
  if (p >= 0 && p <= 1) return;
  throw InvalidArgument(where, "the probability must be from 0 to 1, and is " + std::to_string(p));
}

/// The range of an integral dtype, or the integers that a floating one has all of.
std::pair<int64_t, int64_t> exact_range(DType dtype) {
  if (dtype == kI64) {
    return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
  if (dtype == kBool) return {0, 1};
  if (dtype == kU8) return {0, 255};
  const int bits =
      is_floating_point(dtype) ? places_of(dtype) : static_cast<int>(8 * item_size(dtype)) - 1;
  const int64_t most = int64_t{1} << bits;
  return is_floating_point(dtype) ? std::pair{-most, most} : std::pair{-most, most - 1};
}

}  // namespace

Tensor rand(Sizes shape, TensorOptions options, Generator g) {
  return placed(uniform_on_host(shape, options.dtype.value_or(kF32), g, "rand"), options);
}

Tensor randn(Sizes shape, TensorOptions options, Generator g) {
  return placed(normal_on_host(shape, options.dtype.value_or(kF32), g, "randn"), options);
}

Tensor randint(int64_t low, int64_t high, Sizes shape, TensorOptions options, Generator g) {
  const DType dtype = options.dtype.value_or(kI64);
  const auto [least, most] = exact_range(dtype);
  if (low >= high || low < least || high - 1 > most) {
    throw InvalidArgument("randint", "from " + std::to_string(low) + " to below " +
                                         std::to_string(high) + " there are no numbers, or " +
                                         std::string(name(dtype)) + " does not hold them all");
  }
  const uint64_t first = static_cast<uint64_t>(low);
  const uint64_t range = static_cast<uint64_t>(high) - first;
  return placed(
      drawn(shape, dtype, g, "randint",
            [=](uint64_t bits) { return static_cast<int64_t>(first + below(bits, range)); }),
      options);
}

Tensor randperm(int64_t n, TensorOptions options, Generator g) {
  const DType dtype = options.dtype.value_or(kI64);
  if (n < 0) throw InvalidArgument("randperm", "n is negative: " + std::to_string(n));
  if (dtype == kBool || n - 1 > exact_range(dtype).second) {
    throw InvalidArgument("randperm", std::string(name(dtype)) + " does not hold the numbers to " +
                                          std::to_string(n - 1));
  }
  (void)detail::checked_numel(Shape{n}, kI64, "randperm");
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  RandomWords words(g.advance(static_cast<uint64_t>(n)));
  // Fisher and Yates, from the front.
  for (uint64_t i = 0; i + 1 < order.size(); ++i) {
    std::swap(order[i], order[i + below(words.next(), order.size() - i)]);
  }
  return placed(tensor(order, {n}, Device()).to(dtype), options);
}

Tensor rand_like(const Tensor& like, Generator g) {
  return rand(detail::impl_of(like, "rand_like").shape(), {like.dtype(), like.device()}, g);
}

Tensor randn_like(const Tensor& like, Generator g) {
  return randn(detail::impl_of(like, "randn_like").shape(), {like.dtype(), like.device()}, g);
}

Tensor bernoulli(const Tensor& p, Generator g) {
  const detail::TensorImpl& impl = detail::impl_of(p, "bernoulli");
  require_floating(impl.dtype, "bernoulli");
  // Drawn finer than a half's probabilities.
  const DType wide = impl.dtype == kF64 ? kF64 : kF32;
  return lt(rand(impl.shape(), {wide, p.device()}, g), p).to(impl.dtype);
}

const Tensor& uniform_(const Tensor& x, double from, double to, Generator g) {
  const detail::TensorImpl& impl = detail::impl_of(x, "uniform_");
  require_floating(impl.dtype, "uniform_");
  if (!(from <= to) || !std::isfinite(to - from)) {
    throw InvalidArgument("uniform_", "the range from " + std::to_string(from) + " to " +
                                          std::to_string(to) + " is not one");
  }
  const int places = places_of(impl.dtype);
  return x.copy_(drawn(impl.shape(), impl.dtype, g, "uniform_",
                       [=](uint64_t bits) { return from + (to - from) * fraction(bits, places); }));
}

const Tensor& normal_(const Tensor& x, double mean, double std, Generator g) {
  const detail::TensorImpl& impl = detail::impl_of(x, "normal_");
  require_floating(impl.dtype, "normal_");
  if (!(std >= 0)) {
    throw InvalidArgument("normal_", "the deviation is negative: " + std::to_string(std));
  }
  return x.copy_(drawn(impl.shape(), impl.dtype, g, "normal_",
                       [=](uint64_t bits) { return mean + std * normal_of(bits); }));
}

const Tensor& trunc_normal_(const Tensor& x, double mean, double std, double low, double high,
                            Generator g) {
  const detail::TensorImpl& impl = detail::impl_of(x, "trunc_normal_");
  require_floating(impl.dtype, "trunc_normal_");
  if (!(low < high) || !(std > 0)) {
    throw InvalidArgument("trunc_normal_", "low " + std::to_string(low) + " must be below high " +
                                               std::to_string(high) + ", and the deviation " +
                                               std::to_string(std) + " above 0");
  }
  // In the upper tail probabilities are near 1 and lose their places: mirror it.
  const bool mirrored = low > mean;
  const double a = (mirrored ? mean - high : low - mean) / std;
  const double b = (mirrored ? mean - low : high - mean) / std;
  const double from = normal_below(a), to = normal_below(b);
  const double sign = mirrored ? -1 : 1;
  return x.copy_(drawn(impl.shape(), impl.dtype, g, "trunc_normal_", [=](uint64_t bits) {
    const double p = from + (to - from) * (fraction(bits, 53) + 0x1p-54);
    const double z = p > 0 && p < 1 ? normal_at(p) : b;
    return std::clamp(mean + sign * std * z, low, high);
  }));
}

const Tensor& bernoulli_(const Tensor& x, double p, Generator g) {
  const detail::TensorImpl& impl = detail::impl_of(x, "bernoulli_");
  require_probability(p, "bernoulli_");
  return x.copy_(drawn(impl.shape(), kBool, g, "bernoulli_",
                       [=](uint64_t bits) { return int32_t{fraction(bits, 53) < p}; }));
}

Tensor dropout(const Tensor& x, double p, bool training, Generator g) {
  const detail::TensorImpl& impl = detail::impl_of(x, "dropout");
  require_probability(p, "dropout");
  if (!training || p == 0) return x;
  require_floating(impl.dtype, "dropout");
  // A byte an element is what crosses to the device.
  const Tensor kept = drawn(impl.shape(), kBool, g, "dropout",
                            [=](uint64_t bits) { return int32_t{fraction(bits, 53) >= p}; });
  return where(kept.to(x.device()), mul(x, p < 1 ? 1 / (1 - p) : 0.0), Scalar(0));
}

}  // namespace ferry
