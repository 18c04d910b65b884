// SPDX-License-Identifier: Apache-2.0
//
// Convolution and pooling over images.
#ifndef FERRY_NN_CONV_H
#define FERRY_NN_CONV_H

#include <array>

#include "ferry/nn/module.h"

namespace ferry::nn {

/// Height and width: one number for both, or {height, width}.
struct Pair : std::array<int64_t, 2> {
  Pair(int64_t both) : Pair(both, both) {}  // NOLINT(google-explicit-constructor)
  Pair(int64_t height, int64_t width) : std::array<int64_t, 2>{height, width} {}
};

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

/// x [N, in, H, W] to [N, out, H', W'], or one image [in, H, W]. weight
/// [out, in / groups, kH, kW] and bias [out] start uniform within
/// 1 / sqrt(in / groups * kH * kW), as PyTorch's.
class FERRY_API Conv2d : public Module {
 public:
  /// InvalidArgument for sizes below 1, or groups that do not divide both
  /// channel counts.
  Conv2d(int64_t in_channels, int64_t out_channels, Pair kernel, Conv2dOptions options = {});

  Parameter weight, bias;
  FERRY_MODULE(weight, bias)

  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;

 private:
  int64_t in_, out_;
  Pair kernel_;
  Conv2dOptions options_;
};

struct MaxPool2dOptions {
  Pair stride = 0;  ///< 0: the kernel's size
  Pair padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;
};

/// The largest value of each window. x [N, C, H, W] or [C, H, W].
class FERRY_API MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Pair kernel, MaxPool2dOptions options = {});
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;

 private:
  Pair kernel_;
  MaxPool2dOptions options_;
};

struct AvgPool2dOptions {
  Pair stride = 0;  ///< 0: the kernel's size
  Pair padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};

/// The mean of each window. x [N, C, H, W] or [C, H, W].
class FERRY_API AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Pair kernel, AvgPool2dOptions options = {});
  FERRY_MODULE()
  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;

 private:
  Pair kernel_;
  AvgPool2dOptions options_;
};

}  // namespace ferry::nn

#endif  // FERRY_NN_CONV_H
