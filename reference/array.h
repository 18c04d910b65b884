// SPDX-License-Identifier: Apache-2.0
//
// Array: what the judge computes with.
#ifndef FERRY_REFERENCE_ARRAY_H
#define FERRY_REFERENCE_ARRAY_H

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

namespace ferry::reference {

/// Row-major doubles.
struct Array {
  std::vector<int64_t> shape;
  std::vector<double> data;

  Array() = default;
  explicit Array(std::vector<int64_t> sizes)
      : shape(std::move(sizes)), data(static_cast<size_t>(count(shape)), 0.0) {}
  Array(std::vector<int64_t> sizes, std::vector<double> values)
      : shape(std::move(sizes)), data(std::move(values)) {}

  static int64_t count(const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }
  int64_t size(size_t d) const { return shape[d]; }
  double& at(int64_t i) { return data[static_cast<size_t>(i)]; }
  double at(int64_t i) const { return data[static_cast<size_t>(i)]; }
};

/// The position of element `number` in row-major order.
inline std::vector<int64_t> position(const std::vector<int64_t>& shape, int64_t number) {
  std::vector<int64_t> out(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = number % shape[d];
    number /= shape[d];
  }
  return out;
}

/// The row-major number of a position.
inline int64_t number_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& at) {
  int64_t out = 0;
  for (size_t d = 0; d < shape.size(); ++d) out = out * shape[d] + at[d];
  return out;
}

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_ARRAY_H
