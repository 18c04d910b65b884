// SPDX-License-Identifier: Apache-2.0
//
// Losses, as torch.nn.functional names and defines them.
#ifndef FERRY_LOSSES_H
#define FERRY_LOSSES_H

#include <cstdint>

#include "ferry/export.h"
#include "ferry/tensor.h"

namespace ferry {

/// What becomes of the losses of the elements: themselves, their mean, or their
/// sum. The mean of nothing is NaN.
enum class Reduction { kNone, kMean, kSum };

struct CrossEntropyOptions {
  Tensor weight;                ///< [C] or undefined: a factor for each class
  int64_t ignore_index = -100;  ///< targets of this class count for nothing
  Reduction reduction = Reduction::kMean;
  double label_smoothing = 0;  ///< from 0 to 1; cross_entropy only
};

/// The negative logarithm of the probability that softmax(x) gives the target.
/// x is [C] or [N, C, d...] of a floating dtype; target is [] or [N, d...] of
/// int64 with classes 0..C-1, or has x's shape and dtype: probabilities. The
/// mean weighs classes by their weight; with probabilities it is over N, d... .
///
/// A class outside 0..C-1 fails as gather() does: at once or at the next wait.
FERRY_API Tensor cross_entropy(const Tensor& x, const Tensor& target,
                               const CrossEntropyOptions& options = {});
/// The same where x holds logarithms of probabilities; classes only.
FERRY_API Tensor nll_loss(const Tensor& x, const Tensor& target,
                          const CrossEntropyOptions& options = {});

// x and target broadcast, as in arithmetic; floating dtypes.
FERRY_API Tensor mse_loss(const Tensor& x, const Tensor& target,
                          Reduction reduction = Reduction::kMean);
FERRY_API Tensor l1_loss(const Tensor& x, const Tensor& target,
                         Reduction reduction = Reduction::kMean);
/// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2. beta >= 0.
FERRY_API Tensor smooth_l1_loss(const Tensor& x, const Tensor& target,
                                Reduction reduction = Reduction::kMean, double beta = 1);
/// d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2). delta > 0.
FERRY_API Tensor huber_loss(const Tensor& x, const Tensor& target,
                            Reduction reduction = Reduction::kMean, double delta = 1);

struct BinaryCrossEntropyOptions {
  Tensor weight;      ///< a factor for each element, broadcast; or undefined
  Tensor pos_weight;  ///< a factor for the positive part, broadcast; or undefined
  Reduction reduction = Reduction::kMean;
};
/// Of sigmoid(x) against the probability `target`, without overflow. Same shapes.
FERRY_API Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                                  const BinaryCrossEntropyOptions& options = {});

/// target (log target - x), where x is a logarithm; 0 where target is 0. With
/// `log_target` target is a logarithm, too. kMean is the mean over elements;
/// divide the sum by the batch's size for the mathematical mean.
FERRY_API Tensor kl_div(const Tensor& x, const Tensor& target,
                        Reduction reduction = Reduction::kMean, bool log_target = false);

}  // namespace ferry

#endif  // FERRY_LOSSES_H
