// SPDX-License-Identifier: Apache-2.0
//
// For each result, all of its elements in order.
#include "reference/reduce.h"

#include <cmath>

namespace ferry::reference {
namespace {

double sum_of(const std::vector<double>& values) {
  double total = 0;
  double lost = 0;
  for (const double v : values) {
    const double next = total + v;
    if (std::isfinite(next)) {
      lost += std::fabs(total) >= std::fabs(v) ? (total - next) + v : (v - next) + total;
    }
    total = next;
  }
  return total + lost;
}

bool beats(ferry_reduce_op op, double v, double best) {
  if (std::isnan(best)) return false;
  if (std::isnan(v)) return true;
  return op == FERRY_REDUCE_MAX || op == FERRY_REDUCE_ARGMAX ? v > best : v < best;
}

double reduce_one(ferry_reduce_op op, const std::vector<double>& values) {
  if (op == FERRY_REDUCE_SUM) return sum_of(values);
  double product = 1;
  bool any = false;
  bool all = true;
  size_t best = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool set = values[i] != 0;  // NaN is set
    product *= values[i];
    any = any || set;
    all = all && set;
    if (beats(op, values[i], values[best])) best = i;
  }
  switch (op) {
    case FERRY_REDUCE_PROD:
      return product;
    case FERRY_REDUCE_ANY:
      return any ? 1 : 0;
    case FERRY_REDUCE_ALL:
      return all ? 1 : 0;
    case FERRY_REDUCE_ARGMAX:
    case FERRY_REDUCE_ARGMIN:
      return static_cast<double>(best);
    default:
      return values[best];
  }
}

}  // namespace

Array reduce(ferry_reduce_op op, const Array& x, uint32_t axes) {
  std::vector<int64_t> shape = x.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((axes >> d & 1) != 0) shape[d] = 1;
  }
  Array out(shape);
  std::vector<std::vector<double>> parts(out.data.size());
  for (int64_t i = 0; i < static_cast<int64_t>(x.data.size()); ++i) {
    std::vector<int64_t> at = position(x.shape, i);
    for (size_t d = 0; d < at.size(); ++d) {
      if ((axes >> d & 1) != 0) at[d] = 0;
    }
    parts[static_cast<size_t>(number_of(shape, at))].push_back(x.at(i));
  }
  for (size_t o = 0; o < parts.size(); ++o) out.data[o] = reduce_one(op, parts[o]);
  return out;
}

Array softmax(const Array& x, size_t dim, bool logarithm) {
  const uint32_t axes = 1u << dim;
  const Array largest = reduce(FERRY_REDUCE_MAX, x, axes);
  Array powers = x;
  const auto along = [&](int64_t i) {
    std::vector<int64_t> at = position(x.shape, i);
    at[dim] = 0;
    return number_of(largest.shape, at);
  };
  const auto n = static_cast<int64_t>(x.data.size());
  for (int64_t i = 0; i < n; ++i) powers.at(i) = std::exp(x.at(i) - largest.at(along(i)));
  const Array total = reduce(FERRY_REDUCE_SUM, powers, axes);
  Array out = x;
  for (int64_t i = 0; i < n; ++i) {
    out.at(i) = logarithm ? x.at(i) - largest.at(along(i)) - std::log(total.at(along(i)))
                          : powers.at(i) / total.at(along(i));
  }
  return out;
}

}  // namespace ferry::reference
