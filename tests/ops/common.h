// SPDX-License-Identifier: Apache-2.0
//
// What the tests of operations share: the devices, tensors from the judge's
// arrays and back, and comparing.
#ifndef FERRY_TESTS_OPS_COMMON_H
#define FERRY_TESTS_OPS_COMMON_H

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ferry/tensor.h"
#include "reference/array.h"

namespace ferry::test {

inline constexpr DType kAllDtypes[] = {kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64};
inline constexpr DType kFloatDtypes[] = {kF16, kBF16, kF32, kF64};

/// The strings of all devices of this process.
std::vector<std::string> device_names();
/// For INSTANTIATE_TEST_SUITE_P: "sim:0" as "sim_0".
std::string readable(const ::testing::TestParamInfo<std::string>& info);

/// A test that runs once for each device.
class OnDevice : public ::testing::TestWithParam<std::string> {
 protected:
  Device device() const { return Device(GetParam()); }
  /// The array as a tensor of `dtype` on the device; values are rounded.
  Tensor make(const reference::Array& array, DType dtype) const;
};

#define FERRY_ON_EVERY_DEVICE(Suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::ValuesIn(::ferry::test::device_names()), \
                           ::ferry::test::readable)

/// Deterministic values in [-limit, limit], never 0.
reference::Array random_array(std::vector<int64_t> shape, double limit, uint64_t seed);
/// Each value as it is once it was stored in `dtype`.
reference::Array rounded(reference::Array array, DType dtype);
/// The tensor's values, through the CPU.
reference::Array array_of(const Tensor& tensor);

/// got is within `tolerance` of want; NaN equals NaN, infinities are exact.
::testing::AssertionResult close(double got, double want, double tolerance);

/// Every element within `relative` * its entry in `size` + `absolute`, after
/// rounding to the tensor's dtype. Shapes must be equal.
::testing::AssertionResult matches(const Tensor& got, const reference::Array& want,
                                   const reference::Array& size, double relative,
                                   double absolute = 0);
/// The same relative to the value itself.
::testing::AssertionResult matches(const Tensor& got, const reference::Array& want, double relative,
                                   double absolute = 0);

/// Half the distance of 1 to the next number: the rounding error of a dtype.
double unit_of(DType dtype);

/// The text of the InvalidArgument that f throws; a failure where it does not.
template <class E = InvalidArgument, class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace ferry::test

#endif  // FERRY_TESTS_OPS_COMMON_H
