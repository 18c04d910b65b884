// SPDX-License-Identifier: Apache-2.0
//
// First values of parameters.
#ifndef FERRY_NN_INIT_H
#define FERRY_NN_INIT_H

#include <string_view>

#include "ferry/export.h"
#include "ferry/random.h"
#include "ferry/tensor.h"

namespace ferry::nn {

/// float32 on the default device, each value drawn uniformly from -bound to
/// bound by the default generator.
FERRY_API Tensor uniform(Sizes shape, double bound);
/// The same from the normal distribution of mean 0 and deviation 1.
FERRY_API Tensor normal(Sizes shape);

/// PyTorch's torch.nn.init: each overwrites `x` with numbers of `g` and returns
/// it. Fans are, for x [out, in, kernel...], in and out times the kernel's size;
/// InvalidArgument for fewer than 2 dimensions.
namespace init {

enum class FanMode { kFanIn, kFanOut };

/// How much a nonlinearity narrows its input: "linear", "conv1d", "conv2d",
/// "conv3d", "sigmoid" (1), "tanh" (5/3), "relu" (sqrt 2), "leaky_relu" (sqrt(2
/// / (1 + param^2))), "selu" (3/4). InvalidArgument for other names.
FERRY_API double calculate_gain(std::string_view nonlinearity, double param = 0.01);

FERRY_API const Tensor& uniform_(const Tensor& x, double from = 0, double to = 1,
                                 Generator g = default_generator());
FERRY_API const Tensor& normal_(const Tensor& x, double mean = 0, double std = 1,
                                Generator g = default_generator());
FERRY_API const Tensor& trunc_normal_(const Tensor& x, double mean = 0, double std = 1,
                                      double low = -2, double high = 2,
                                      Generator g = default_generator());
FERRY_API const Tensor& constant_(const Tensor& x, Scalar value);
FERRY_API const Tensor& zeros_(const Tensor& x);
FERRY_API const Tensor& ones_(const Tensor& x);

/// Uniform within gain * sqrt(6 / (fan_in + fan_out)).
FERRY_API const Tensor& xavier_uniform_(const Tensor& x, double gain = 1,
                                        Generator g = default_generator());
/// Normal with deviation gain * sqrt(2 / (fan_in + fan_out)).
FERRY_API const Tensor& xavier_normal_(const Tensor& x, double gain = 1,
                                       Generator g = default_generator());
/// Uniform within gain * sqrt(3 / fan); `a` is leaky_relu's slope.
FERRY_API const Tensor& kaiming_uniform_(const Tensor& x, double a = 0,
                                         FanMode mode = FanMode::kFanIn,
                                         std::string_view nonlinearity = "leaky_relu",
                                         Generator g = default_generator());
/// Normal with deviation gain / sqrt(fan).
FERRY_API const Tensor& kaiming_normal_(const Tensor& x, double a = 0,
                                        FanMode mode = FanMode::kFanIn,
                                        std::string_view nonlinearity = "leaky_relu",
                                        Generator g = default_generator());

}  // namespace init
}  // namespace ferry::nn

#endif  // FERRY_NN_INIT_H
