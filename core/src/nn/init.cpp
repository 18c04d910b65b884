// SPDX-License-Identifier: Apache-2.0
//
// First values of parameters, drawn by the generator of ferry/random.h.
#include "ferry/nn/init.h"

#include <cmath>
#include <numbers>
#include <string>

#include "ferry/error.h"

namespace ferry::nn {
namespace init {
namespace {

struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const Tensor& x, const char* where) {
  if (x.dim() < 2) {
    throw InvalidArgument(where, "fans need the sizes [out, in, ...], and x is " +
                                     to_string(x.shape()) + "; use uniform_ or normal_");
  }
  double kernel = 1;
  for (int64_t d = 2; d < x.dim(); ++d) kernel *= static_cast<double>(x.size(d));
  return {static_cast<double>(x.size(1)) * kernel, static_cast<double>(x.size(0)) * kernel};
}

/// Deviation by Kaiming He's rule. Where x is empty nothing is drawn.
double kaiming_std(const Tensor& x, double a, FanMode mode, std::string_view nonlinearity,
                   const char* where) {
  const Fans fans = fans_of(x, where);
  const double fan = mode == FanMode::kFanIn ? fans.in : fans.out;
  const double gain = calculate_gain(nonlinearity, a);
  return fan > 0 ? gain / std::sqrt(fan) : 0;
}

double xavier_std(const Tensor& x, double gain, const char* where) {
  const Fans fans = fans_of(x, where);
  const double both = fans.in + fans.out;
  return both > 0 ? gain * std::sqrt(2 / both) : 0;
}

/// A uniform distribution has the deviation bound / sqrt(3).
const Tensor& uniform_of_std(const Tensor& x, double std, Generator& g) {
  const double bound = std::numbers::sqrt3 * std;
  return ferry::uniform_(x, -bound, bound, g);
}

}  // namespace

double calculate_gain(std::string_view nonlinearity, double param) {
  if (nonlinearity == "linear" || nonlinearity == "conv1d" || nonlinearity == "conv2d" ||
      nonlinearity == "conv3d" || nonlinearity == "sigmoid") {
    return 1;
  }
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::numbers::sqrt2;
  if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + param * param));
  if (nonlinearity == "selu") return 0.75;
  throw InvalidArgument("calculate_gain", "no gain is known for '" + std::string(nonlinearity) +
                                              "'; known are linear, conv1d, conv2d, conv3d, "
                                              "sigmoid, tanh, relu, leaky_relu and selu");
}

const Tensor& uniform_(const Tensor& x, double from, double to, Generator g) {
  return ferry::uniform_(x, from, to, g);
}
const Tensor& normal_(const Tensor& x, double mean, double std, Generator g) {
  return ferry::normal_(x, mean, std, g);
}
const Tensor& trunc_normal_(const Tensor& x, double mean, double std, double low, double high,
                            Generator g) {
  return ferry::trunc_normal_(x, mean, std, low, high, g);
}
const Tensor& constant_(const Tensor& x, Scalar value) { return x.fill_(value); }
const Tensor& zeros_(const Tensor& x) { return x.fill_(0); }
const Tensor& ones_(const Tensor& x) { return x.fill_(1); }

const Tensor& xavier_uniform_(const Tensor& x, double gain, Generator g) {
  return uniform_of_std(x, xavier_std(x, gain, "xavier_uniform_"), g);
}
const Tensor& xavier_normal_(const Tensor& x, double gain, Generator g) {
  return ferry::normal_(x, 0, xavier_std(x, gain, "xavier_normal_"), g);
}
const Tensor& kaiming_uniform_(const Tensor& x, double a, FanMode mode,
                               std::string_view nonlinearity, Generator g) {
  return uniform_of_std(x, kaiming_std(x, a, mode, nonlinearity, "kaiming_uniform_"), g);
}
const Tensor& kaiming_normal_(const Tensor& x, double a, FanMode mode,
                              std::string_view nonlinearity, Generator g) {
  return ferry::normal_(x, 0, kaiming_std(x, a, mode, nonlinearity, "kaiming_normal_"), g);
}

}  // namespace init

Tensor uniform(Sizes shape, double bound) {
  Tensor out = empty(shape);
  ferry::uniform_(out, -bound, bound);
  return out;
}

Tensor normal(Sizes shape) { return randn(shape); }

}  // namespace ferry::nn
