// SPDX-License-Identifier: Apache-2.0
//
// Conversion between dtypes: rounding, wrapping, saturation, NaN.
#include <cmath>
#include <limits>

#include "common.h"
#include "reference/round.h"

namespace ferry::test {
namespace {

using reference::Array;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Conversion : public OnDevice {
 protected:
  /// What `to` holds of a value of `from`.
  static double converted(DType from, DType to, double value) {
    // As a double the largest i64 reads 2^63.
    if (from == kI64 && value == 0x1p63 && is_integral(to)) {
      const auto all_ones = std::numeric_limits<int64_t>::max();
      return to == kI64 ? value : static_cast<double>(to == kU8 ? all_ones & 255 : -1);
    }
    // i64 and f64 reach the halves through f32, as halves compute in f32.
    if ((to == kF16 || to == kBF16) && from != to) value = reference::round_to(FERRY_F32, value);
    return reference::round_to(static_cast<ferry_dtype>(to), value);
  }

  void check(const Tensor& t, const Array& x, DType from, DType to) const {
    const Array got = array_of(t.to(to));
    for (int64_t i = 0; i < static_cast<int64_t>(x.data.size()); ++i) {
      const double want = converted(from, to, x.at(i));
      ASSERT_TRUE(close(got.at(i), want, 0))
          << name(from) << " to " << name(to) << " of " << x.at(i) << " at " << i;
      if (is_floating_point(to) && !std::isnan(want)) {
        ASSERT_EQ(std::signbit(got.at(i)), std::signbit(want)) << "at " << i;
      }
    }
  }
};
FERRY_ON_EVERY_DEVICE(Conversion);

const std::vector<double>& edges() {
  static const std::vector<double> list = {0,
                                           -0.0,
                                           1,
                                           -1,
                                           2.5,
                                           -2.5,
                                           -0.5,
                                           127,
                                           128,
                                           -128,
                                           -129,
                                           255,
                                           256,
                                           300,
                                           -300,
                                           32767,
                                           32768,
                                           -32769,
                                           65504,
                                           65519,
                                           65520,
                                           65535,
                                           65536,
                                           1e9,
                                           -3e9,
                                           2147483647,
                                           2147483648.0,
                                           -2147483649.0,
                                           4294967296.0,
                                           9.2e18,
                                           1e20,
                                           -1e20,
                                           1e30,
                                           -1e30,
                                           3.4e38,
                                           3.5e38,
                                           1e300,
                                           kInfinity,
                                           -kInfinity,
                                           std::nan(""),
                                           0.3,
                                           1e-3,
                                           6e-8,
                                           3e-8,
                                           2.9e-8,
                                           6.2e-5,
                                           1e-40,
                                           1e-46,
                                           0x1p-25,
                                           0x1.8p-24,
                                           0x1p-149,
                                           0x1p-150,
                                           1.00048828125,
                                           1.00390625,
                                           1.01171875,
                                           16777217};
  return list;
}

TEST_P(Conversion, BetweenAllDtypes) {
  for (const DType from : kAllDtypes) {
    const Array x = rounded(Array({static_cast<int64_t>(edges().size())}, edges()), from);
    const Tensor t = make(x, from);
    for (const DType to : kAllDtypes) check(t, x, from, to);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Conversion, OfLongVectorsAndViews) {
  Array long_values({37, 29});
  for (int64_t i = 0; i < 37 * 29; ++i) {
    long_values.at(i) = edges()[static_cast<size_t>(i) % edges().size()];
  }
  for (const DType from : kAllDtypes) {
    const Array x = rounded(long_values, from);
    const Tensor t = make(x, from);
    const Tensor views[] = {t, t.t(), t.slice(1, 1, 29, 3), t.select(0, 5).expand({3, 29})};
    for (const DType to : kAllDtypes) {
      for (const Tensor& view : views) check(view, array_of(view), from, to);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Conversion, EveryHalf) {
  std::vector<int16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<int16_t>(i);
  for (const DType half : {kF16, kBF16}) {
    const Tensor t = from_host(bits.data(), half, {65536}, device());
    const std::vector<float> wide = t.to(kF32).to_vector<float>();
    const int exponent_bits = half == kF16 ? 5 : 8;
    const int places = 15 - exponent_bits;
    for (uint32_t i = 0; i < 65536; ++i) {
      const auto exponent = static_cast<int>(i >> places & ((1u << exponent_bits) - 1));
      const double fraction = std::ldexp(static_cast<double>(i & ((1u << places) - 1)), -places);
      const int bias = (1 << (exponent_bits - 1)) - 1;
      double want = exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                  : std::ldexp(1 + fraction, exponent - bias);
      if (exponent == (1 << exponent_bits) - 1) want = fraction == 0 ? kInfinity : std::nan("");
      if (i >= 32768) want = -want;
      ASSERT_TRUE(close(wide[i], want, 0)) << name(half) << " bits " << i;
    }
    // Back to the half every number is itself.
    const Tensor back = t.to(kF32).to(half);
    EXPECT_TRUE(all(logical_or(back == t, logical_and(isnan(back), isnan(t)))).item<bool>());
  }
}

TEST_P(Conversion, Int64KeepsAllPlaces) {
  const std::vector<int64_t> values = {9007199254740993, -9007199254740993,
                                       std::numeric_limits<int64_t>::max(),
                                       std::numeric_limits<int64_t>::min()};
  const Tensor t = tensor(values, {4}, device());
  EXPECT_EQ(t.to(device(), {.copy = true}).to_vector<int64_t>(), values);
  EXPECT_EQ(t.to(kI32).to_vector<int32_t>(), (std::vector<int32_t>{1, -1, -1, 0}));
  EXPECT_EQ(t.to(kU8).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 255, 255, 0}));
}

}  // namespace
}  // namespace ferry::test
