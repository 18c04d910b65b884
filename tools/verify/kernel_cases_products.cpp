// SPDX-License-Identifier: Apache-2.0
//
// Cases of matmul/1, conv/1 and pool/1.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "kernel_case.h"
#include "reference/network.h"
#include "reference/round.h"

namespace ferry::verify {
namespace {

using reference::Bounded;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Small enough for the products of every dtype to be told apart.
double limit_of(ferry_dtype dtype) { return is_floating(dtype) ? 1 : 3.4; }

/// The bound of plain summation of k terms.
double bound_of(ferry_dtype dtype, int64_t k) {
  return is_floating(dtype) ? static_cast<double>(k + 2) * unit_of(dtype) : 0;
}

void product(Operand a, Operand b, bool fused, const std::string& what, const Sink& sink) {
  const ferry_dtype dtype = a.dtype;
  const Bounded want = reference::matmul(a.values, b.values);
  const int64_t k = a.values.shape.back();
  KernelCase c;
  c.name = fmt::format("matmul of {}, {}{}", dtype_name(dtype), what, fused ? ", fused" : "");
  c.in = {std::move(a), std::move(b)};
  c.out = {{dtype, want.value.shape}};
  const double bound = bound_of(dtype, k);
  if (!fused) {
    c.judge = [=](const std::vector<Array>& got) {
      return compare(dtype, got[0], want.value, want.size, bound);
    };
    sink(c);
    return;
  }
  // relu(product + bias), and no error larger than the product's.
  Operand bias = random_operand(want.value.shape, dtype, limit_of(dtype), 77);
  Array right = want.value, size = want.size;
  for (size_t i = 0; i < right.data.size(); ++i) {
    const double sum = reference::round_to(compute_of(dtype), right.data[i] + bias.values.data[i]);
    right.data[i] = sum < 0 ? 0 : sum;
    size.data[i] += std::fabs(bias.values.data[i]);
  }
  c.in.push_back(std::move(bias));
  Program program(compute_of(dtype), 2);
  program.output(program.then(FERRY_OP_RELU, program.then(FERRY_OP_ADD, 0, 1)));
  c.map = program;
  c.judge = [=](const std::vector<Array>& got) {
    return compare(dtype, got[0], right, size, 2 * bound);
  };
  sink(c);
}

void special_products(ferry_dtype dtype, const Sink& sink) {
  if (!is_floating(dtype)) return;
  for (const double special : {kNan, kInfinity, -kInfinity}) {
    Operand a = random_operand({3, 17}, dtype, 1, 5), b = random_operand({17, 9}, dtype, 1, 6);
    a.values.data[17 + 4] = special;
    b.values.data[4 * 9 + 2] = 0;  // infinity times zero is NaN
    product(std::move(a), std::move(b), false, fmt::format("{} in one row", special), sink);
  }
}

void convolution(std::vector<int64_t> x_shape, std::vector<int64_t> w_shape, ferry_conv_attr attr,
                 bool with_bias, ferry_dtype dtype, double special, const Sink& sink) {
  attr.size = sizeof attr;
  attr.spatial = static_cast<uint32_t>(x_shape.size()) - 2;
  std::vector<int64_t> out_shape = {x_shape[0], w_shape[0]};
  int64_t terms = w_shape[1];
  for (size_t d = 0; d < attr.spatial; ++d) {
    const int64_t window = attr.dilation[d] * (w_shape[d + 2] - 1) + 1;
    out_shape.push_back((x_shape[d + 2] + 2 * attr.padding[d] - window) / attr.stride[d] + 1);
    terms *= w_shape[d + 2];
  }
  KernelCase c;
  c.name = fmt::format("conv of {} over {} dimensions, {} terms, {} groups{}", dtype_name(dtype),
                       attr.spatial, terms, attr.groups, with_bias ? ", bias" : "");
  c.in = {random_operand(x_shape, dtype, limit_of(dtype), 1),
          random_operand(w_shape, dtype, limit_of(dtype), 2)};
  if (special != 0) c.in[0].values.data[c.in[0].values.data.size() / 2] = special;
  if (with_bias) c.in.push_back(random_operand({w_shape[0]}, dtype, limit_of(dtype), 3));
  c.out = {{dtype, out_shape}};
  c.set_attr(attr);
  c.judge = [=, in = c.in](const std::vector<Array>& got) {
    const Array bias = with_bias ? in[2].values : Array();
    const Bounded want = reference::conv(in[0].values, in[1].values, bias, attr, out_shape);
    return compare(dtype, got[0], want.value, want.size, bound_of(dtype, terms + 1));
  };
  sink(c);
}

ferry_conv_attr conv_attr(int64_t stride, int64_t padding, int64_t dilation, int64_t groups) {
  return {0,
          0,
          {stride, stride, stride},
          {padding, padding, padding},
          {dilation, dilation, dilation},
          groups};
}

void pooling(std::vector<int64_t> x_shape, ferry_pool_attr attr, ferry_dtype dtype, double special,
             const Sink& sink) {
  attr.size = sizeof attr;
  attr.spatial = static_cast<uint32_t>(x_shape.size()) - 2;
  std::vector<int64_t> out_shape = {x_shape[0], x_shape[1]};
  double elements = 1;
  for (size_t d = 0; d < attr.spatial; ++d) {
    const int64_t window = attr.dilation[d] * (attr.kernel[d] - 1) + 1;
    out_shape.push_back((x_shape[d + 2] + 2 * attr.padding[d] - window) / attr.stride[d] + 1);
    elements *= static_cast<double>(attr.kernel[d]);
  }
  const bool average = attr.op == FERRY_POOL_AVERAGE;
  KernelCase c;
  c.name = fmt::format("{} pool of {} over {} dimensions, kernel {}, padding {}",
                       average ? "average" : "max", dtype_name(dtype), attr.spatial, attr.kernel[0],
                       attr.padding[0]);
  c.in = {random_operand(x_shape, dtype, 8.4, 4)};
  if (special != 0) c.in[0].values.data[c.in[0].values.data.size() / 2] = special;
  c.out = {{dtype, out_shape}};
  c.set_attr(attr);
  c.judge = [=, x = c.in[0].values](const std::vector<Array>& got) {
    const Array want = reference::pool(x, attr, out_shape);
    Array size = want;
    for (double& v : size.data) v = average ? 8.4 : 0;
    const double bound = average ? (elements + 2) * unit_of(dtype) : 0;
    return compare(dtype, got[0], want, size, bound);
  };
  sink(c);
}

ferry_pool_attr pool_attr(uint32_t op, int64_t kernel, int64_t stride, int64_t padding,
                          int64_t dilation, bool counts_padding) {
  return {0,
          0,
          op,
          counts_padding ? 1u : 0u,
          {kernel, kernel, kernel},
          {stride, stride, stride},
          {padding, padding, padding},
          {dilation, dilation, dilation}};
}

}  // namespace

void matmul_cases(ferry_dtype dtype, uint64_t, Flavour flavour, const Sink& sink) {
  if (dtype == FERRY_BOOL) return;
  if (flavour == Flavour::kSpecial) {
    special_products(dtype, sink);
    return;
  }
  const double limit = limit_of(dtype);
  const auto add = [&](int64_t m, int64_t k, int64_t n, bool fused) {
    product(random_operand({m, k}, dtype, limit, 1), random_operand({k, n}, dtype, limit, 2), fused,
            fmt::format("{} x {} x {}", m, k, n), sink);
  };
  for (const int64_t s : sizes_of(flavour)) {
    add(s, 3, 5, false);
    add(4, s, 3, false);
    add(2, 7, s, false);
    if (s <= 65) add(s, s, s, true);
  }
  Operand a = random_operand({2, 3, 5, 4}, dtype, limit, 3);
  Operand b = random_operand({2, 3, 4, 6}, dtype, limit, 4);
  // One matrix for the first batch dimension, through a stride of 0.
  b.repeated = 1;
  for (size_t i = 72; i < b.values.data.size(); ++i) b.values.data[i] = b.values.data[i - 72];
  product(std::move(a), std::move(b), false, "batches of 2 x 3", sink);
}

void conv_cases(ferry_dtype dtype, uint64_t, Flavour flavour, const Sink& sink) {
  if (dtype == FERRY_BOOL) return;
  if (flavour == Flavour::kSpecial) {
    if (!is_floating(dtype)) return;
    for (const double special : {kNan, kInfinity}) {
      convolution({1, 2, 9, 9}, {3, 2, 3, 3}, conv_attr(1, 1, 1, 1), true, dtype, special, sink);
    }
    return;
  }
  for (const bool bias : {false, true}) {
    convolution({2, 3, 17}, {4, 3, 5}, conv_attr(1, 2, 1, 1), bias, dtype, 0, sink);
    convolution({2, 4, 9, 11}, {6, 2, 3, 3}, conv_attr(2, 1, 1, 2), bias, dtype, 0, sink);
    convolution({1, 8, 15, 16}, {8, 1, 3, 3}, conv_attr(1, 1, 1, 8), bias, dtype, 0, sink);
    convolution({1, 2, 13, 12}, {3, 2, 3, 2}, conv_attr(1, 2, 2, 1), bias, dtype, 0, sink);
    convolution({3, 16, 7, 7}, {17, 16, 1, 1}, conv_attr(1, 0, 1, 1), bias, dtype, 0, sink);
    convolution({1, 2, 5, 6, 4}, {3, 2, 3, 2, 2}, conv_attr(1, 1, 1, 1), bias, dtype, 0, sink);
  }
  if (flavour != Flavour::kSizes) return;
  for (const int64_t n : {1, 3, 8, 15, 16, 31, 33, 65, 255, 1000}) {
    convolution({1, 2, n}, {3, 2, 3}, conv_attr(1, 1, 1, 1), true, dtype, 0, sink);
  }
}

void pool_cases(ferry_dtype dtype, uint64_t, Flavour flavour, const Sink& sink) {
  if (dtype == FERRY_BOOL) return;
  for (const uint32_t op : {FERRY_POOL_MAX, FERRY_POOL_AVERAGE}) {
    if (op == FERRY_POOL_AVERAGE && !is_floating(dtype)) continue;
    if (flavour == Flavour::kSpecial) {
      if (!is_floating(dtype)) return;
      for (const double special : {kNan, kInfinity, -kInfinity}) {
        pooling({1, 2, 7, 7}, pool_attr(op, 3, 2, 1, 1, true), dtype, special, sink);
      }
      continue;
    }
    for (const bool counts : {true, false}) {
      const bool dilates = op == FERRY_POOL_MAX;
      pooling({2, 3, 17}, pool_attr(op, 3, 2, 1, 1, counts), dtype, 0, sink);
      pooling({2, 3, 9, 8}, pool_attr(op, 2, 2, 0, 1, counts), dtype, 0, sink);
      pooling({1, 2, 13, 14}, pool_attr(op, 4, 1, 2, dilates ? 2 : 1, counts), dtype, 0, sink);
      pooling({1, 2, 5, 6, 7}, pool_attr(op, 3, 2, 1, 1, counts), dtype, 0, sink);
    }
    if (flavour != Flavour::kSizes) continue;
    for (const int64_t n : {3, 8, 15, 16, 31, 33, 65, 255, 1000, 4097}) {
      pooling({1, 1, n}, pool_attr(op, 3, 1, 1, 1, true), dtype, 0, sink);
    }
  }
}

}  // namespace ferry::verify
