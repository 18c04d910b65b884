// SPDX-License-Identifier: Apache-2.0
//
// Cases of gather/1 and layer_norm/1.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernel_case.h"
#include "reference/network.h"
#include "reference/round.h"

namespace ferry::verify {
namespace {

Operand indices(std::vector<int64_t> shape, int64_t size, uint64_t seed) {
  Operand out{FERRY_I64, Array(std::move(shape)), 0};
  uint64_t state = seed;
  for (double& v : out.values.data) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<double>((state >> 33) % static_cast<uint64_t>(size));
  }
  return out;
}

void gather(Operand x, Operand index, uint32_t mode, uint32_t axis, const Sink& sink) {
  std::vector<int64_t> shape = index.values.shape;
  if (mode == FERRY_GATHER_SELECT) {
    shape = x.values.shape;
    shape[axis] = index.values.shape[0];
  }
  const ferry_dtype dtype = x.dtype;
  KernelCase c;
  c.name = fmt::format("gather ({}) of {}, {} of {} elements, axis {}",
                       mode == FERRY_GATHER_SELECT ? "select" : "element", dtype_name(dtype),
                       Array::count(shape), Array::count(x.values.shape), axis);
  c.in = {std::move(x), std::move(index)};
  c.out = {{dtype, shape}};
  c.set_attr(ferry_gather_attr{sizeof(ferry_gather_attr), mode, axis, 0});
  c.judge = [=, in = c.in](const std::vector<Array>& got) {
    std::vector<int64_t> chosen;
    for (const double v : in[1].values.data) chosen.push_back(static_cast<int64_t>(v));
    const Array want = mode == FERRY_GATHER_SELECT
                           ? reference::gather_select(in[0].values, chosen, axis)
                           : reference::gather_element(in[0].values, in[1].values, axis);
    return compare(dtype, got[0], want, want, 0);
  };
  sink(c);
}

/// x normalised over its last `dims` dimensions, in double from the contract.
Array layer_norm(const std::vector<Operand>& in, int64_t row, uint32_t flags, double eps) {
  Array out = in[0].values;
  const bool rms = (flags & FERRY_LAYER_NORM_RMS) != 0;
  const bool weighted = (flags & FERRY_LAYER_NORM_WEIGHT) != 0;
  const bool biased = (flags & FERRY_LAYER_NORM_BIAS) != 0;
  for (int64_t begin = 0; begin < static_cast<int64_t>(out.data.size()); begin += row) {
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < row && !rms; ++i) mean += out.at(begin + i) / static_cast<double>(row);
    for (int64_t i = 0; i < row; ++i) squares += std::pow(out.at(begin + i) - mean, 2);
    const double scale = std::sqrt(squares / static_cast<double>(row) + eps);
    for (int64_t i = 0; i < row; ++i) {
      double& v = out.at(begin + i);
      v = (v - mean) / scale;
      if (weighted) v *= in[1].values.at(i);
      if (biased) v += in[weighted ? 2 : 1].values.at(i);
    }
  }
  return out;
}

void normalisation(Operand x, uint32_t dims, uint32_t flags, const std::string& what,
                   const Sink& sink) {
  const ferry_dtype dtype = x.dtype;
  const std::vector<int64_t> shape = x.values.shape;
  const std::vector<int64_t> row(shape.end() - dims, shape.end());
  constexpr double kEps = 1e-5;
  KernelCase c;
  c.name = fmt::format("layer_norm of {}, {}, flags {}", dtype_name(dtype), what, flags);
  c.in = {std::move(x)};
  if ((flags & FERRY_LAYER_NORM_WEIGHT) != 0) c.in.push_back(random_operand(row, dtype, 2, 8));
  if ((flags & FERRY_LAYER_NORM_BIAS) != 0) c.in.push_back(random_operand(row, dtype, 2, 9));
  c.out = {{dtype, shape}};
  c.set_attr(ferry_layer_norm_attr{sizeof(ferry_layer_norm_attr), dims, flags, 0, kEps});
  c.judge = [=, in = c.in](const std::vector<Array>& got) {
    const Array want = layer_norm(in, Array::count(row), flags, kEps);
    return compare(dtype, got[0], want, want, 32 * unit_of(dtype), 128 * unit_of(dtype));
  };
  sink(c);
}

}  // namespace

void gather_cases(ferry_dtype dtype, uint64_t dtypes, Flavour flavour, const Sink& sink) {
  if (!has(dtypes, FERRY_I64)) return;
  if (flavour == Flavour::kSpecial) {
    if (!is_floating(dtype)) return;
    Operand x = random_operand({5, 7}, dtype, 4, 1);
    x.values.data[8] = std::numeric_limits<double>::quiet_NaN();
    x.values.data[9] = std::numeric_limits<double>::infinity();
    x.values.data[10] = -0.0;
    gather(std::move(x), indices({9}, 5, 2), FERRY_GATHER_SELECT, 0, sink);
    return;
  }
  for (const int64_t n : sizes_of(flavour)) {
    const auto seed = static_cast<uint64_t>(n);
    gather(random_operand({n}, dtype, 9, seed), indices({n}, n, seed), FERRY_GATHER_SELECT, 0,
           sink);
    if (n > 255) continue;
    gather(random_operand({6, n}, dtype, 9, seed), indices({4}, 6, seed), FERRY_GATHER_SELECT, 0,
           sink);
    gather(random_operand({3, n}, dtype, 9, seed), indices({3, 5}, n, seed), FERRY_GATHER_ELEMENT,
           1, sink);
  }
  gather(random_operand({2, 5, 3}, dtype, 9, 3), indices({8}, 5, 3), FERRY_GATHER_SELECT, 1, sink);
  gather(random_operand({4, 5, 3}, dtype, 9, 4), indices({2, 5, 3}, 4, 4), FERRY_GATHER_ELEMENT, 0,
         sink);
}

void layer_norm_cases(ferry_dtype dtype, uint64_t, Flavour flavour, const Sink& sink) {
  if (!is_floating(dtype)) return;
  if (flavour == Flavour::kSpecial) {
    Operand x = random_operand({3, 9}, dtype, 2, 1);
    x.values.data[12] = std::numeric_limits<double>::quiet_NaN();
    normalisation(std::move(x), 1, 0, "a NaN in one row", sink);
    return;
  }
  for (const int64_t n : sizes_of(flavour)) {
    const auto seed = static_cast<uint64_t>(n);
    normalisation(random_operand({3, n}, dtype, 2, seed), 1,
                  FERRY_LAYER_NORM_WEIGHT | FERRY_LAYER_NORM_BIAS, fmt::format("3 x {}", n), sink);
  }
  for (uint32_t flags = 0; flags < 8; ++flags) {
    normalisation(random_operand({2, 3, 17}, dtype, 2, 5), 1, flags, "2 x 3 x 17", sink);
    normalisation(random_operand({2, 3, 17}, dtype, 2, 6), 2, flags, "2 x 51", sink);
  }
}

}  // namespace ferry::verify
