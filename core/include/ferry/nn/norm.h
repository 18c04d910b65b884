// SPDX-License-Identifier: Apache-2.0
//
// Normalisation layers.
#ifndef FERRY_NN_NORM_H
#define FERRY_NN_NORM_H

#include <optional>

#include "ferry/nn/module.h"

namespace ferry::nn {

struct BatchNorm2dOptions {
  double eps = 1e-5;
  /// Weight of a new batch in the running statistics; empty: their plain mean.
  std::optional<double> momentum = 0.1;
  bool affine = true;
  bool track_running_stats = true;
};

/// (x - mean) / sqrt(var + eps) * weight + bias for each channel of x
/// [N, C, H, W].
///
/// In evaluation mode with the running statistics. In training mode, and always
/// where there are none, with those of the batch (the biased variance), which
/// then enter the running ones (the unbiased variance); such a call writes the
/// buffers, so it needs the module to itself. Halves are normalised in float32.
class FERRY_API BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(int64_t num_features, BatchNorm2dOptions options = {});

  Parameter weight, bias;            ///< [C]: 1 and 0 at first
  Buffer running_mean, running_var;  ///< [C]: 0 and 1 at first
  Buffer num_batches_tracked;        ///< int64, 0-dim
  FERRY_MODULE(weight, bias, running_mean, running_var, num_batches_tracked)

  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;

 private:
  Tensor normalise_batch(const Tensor& x) const;
  void track(const Tensor& mean, const Tensor& variance, int64_t count) const;

  int64_t features_;
  BatchNorm2dOptions options_;
};

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
};

/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions, whose
/// sizes are `normalized_shape`. Halves are normalised in float32.
class FERRY_API LayerNorm : public Module {
 public:
  explicit LayerNorm(Sizes normalized_shape, LayerNormOptions options = {});
  explicit LayerNorm(int64_t size, LayerNormOptions options = {});

  Parameter weight, bias;  ///< 1 and 0 at first
  FERRY_MODULE(weight, bias)

  Tensor forward(const Tensor& x) const;
  std::string extra_repr() const override;

 private:
  Shape shape_;
  LayerNormOptions options_;
};

}  // namespace ferry::nn

#endif  // FERRY_NN_NORM_H
