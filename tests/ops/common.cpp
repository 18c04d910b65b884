// SPDX-License-Identifier: Apache-2.0
//
// Conversion between arrays and tensors, and comparing.
#include "common.h"

#include <algorithm>
#include <cmath>

#include "ferry/device.h"
#include "reference/round.h"

namespace ferry::test {

using reference::Array;

std::vector<std::string> device_names() {
  std::vector<std::string> out;
  for (const DeviceProperties& p : devices()) out.push_back(p.device.str());
  return out;
}

std::string readable(const ::testing::TestParamInfo<std::string>& info) {
  std::string out = info.param;
  std::replace(out.begin(), out.end(), ':', '_');
  return out;
}

Tensor OnDevice::make(const Array& array, DType dtype) const {
  // Through f64 on the CPU; what a conversion does is tested by itself.
  return from_host(array.data.data(), kF64, array.shape).to(dtype).to(device());
}

Array random_array(std::vector<int64_t> shape, double limit, uint64_t seed) {
  Array out(std::move(shape));
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (double& v : out.data) {
    do {
      state += 0x9e3779b97f4a7c15u;
      uint64_t x = state;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
      x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
      x ^= x >> 31;
      v = (static_cast<double>(x >> 11) * 0x1p-52 - 1) * limit;
    } while (v == 0);
  }
  return out;
}

Array rounded(Array array, DType dtype) {
  for (double& v : array.data) v = reference::round_to(static_cast<ferry_dtype>(dtype), v);
  return array;
}

Array array_of(const Tensor& tensor) {
  return Array(tensor.shape(), tensor.to(Device()).to(kF64).to_vector<double>());
}

::testing::AssertionResult close(double got, double want, double tolerance) {
  if (std::isnan(got) && std::isnan(want)) return ::testing::AssertionSuccess();
  if (got == want || std::fabs(got - want) <= tolerance) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "got " << ::testing::PrintToString(got) << ", not " << ::testing::PrintToString(want)
         << " +- " << tolerance << " (off by " << std::fabs(got - want) << ")";
}

::testing::AssertionResult matches(const Tensor& got, const Array& want, const Array& size,
                                   double relative, double absolute) {
  const Array values = array_of(got);
  if (values.shape != want.shape) {
    return ::testing::AssertionFailure()
           << "the shape is " << to_string(values.shape) << ", not " << to_string(want.shape);
  }
  const auto dtype = static_cast<ferry_dtype>(got.dtype());
  for (int64_t i = 0; i < static_cast<int64_t>(want.data.size()); ++i) {
    const double expected = reference::round_to(dtype, want.at(i));
    double tolerance = relative * std::fabs(size.at(i)) + absolute;
    if (is_floating_point(got.dtype()) && tolerance > 0) {
      tolerance += reference::ulp_at(dtype, want.at(i));
    }
    const auto result = close(values.at(i), expected, tolerance);
    if (!result) {
      return ::testing::AssertionFailure() << "element " << i << ": " << result.message();
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult matches(const Tensor& got, const Array& want, double relative,
                                   double absolute) {
  return matches(got, want, want, relative, absolute);
}

double unit_of(DType dtype) {
  switch (dtype) {
    case kF16:
      return 0x1p-11;
    case kBF16:
      return 0x1p-8;
    case kF32:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

}  // namespace ferry::test
