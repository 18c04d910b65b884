// SPDX-License-Identifier: Apache-2.0
//
// Losses, made of maps, reductions and gather.
#include "ferry/losses.h"

#include <string>

#include "ferry/ops.h"
#include "ops/floating.h"
#include "ops/map_builder.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

using ops::both_shapes;
using ops::require_floating;

Tensor reduced(const Tensor& losses, Reduction reduction) {
  return reduction == Reduction::kNone  ? losses
         : reduction == Reduction::kSum ? sum(losses)
                                        : mean(losses);
}

void check_weight(const char* name, const Tensor& weight, int64_t classes, DType dtype) {
  if (!weight.defined()) return;
  if (weight.dim() != 1 || weight.size(0) != classes) {
    throw InvalidArgument(name, "the weight must be [" + std::to_string(classes) +
                                    "], one a class, not " + to_string(weight.shape()));
  }
  if (weight.dtype() != dtype) {
    throw InvalidArgument(name, "the weight must be " + std::string(ferry::name(dtype)) +
                                    " as x, not " + std::string(ferry::name(weight.dtype())));
  }
}

/// The dimension of the classes: the only one, or the second.
int64_t class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

void check_classes(const char* name, const Tensor& x, const Tensor& target) {
  const detail::TensorImpl& impl = detail::impl_of(x, name);
  const detail::TensorImpl& to = detail::impl_of(target, name);
  require_floating(impl.dtype, name);
  ops::common_device({&x, &target}, name);
  if (to.dtype != kI64) {
    throw InvalidArgument(name, "classes must be int64, not " + std::string(ferry::name(to.dtype)));
  }
  if (impl.ndim == 0) throw InvalidArgument(name, "x has no dimension of classes");
  Shape want(impl.shape().begin(), impl.shape().end());
  want.erase(want.begin() + class_dim(x));
  if (want != target.shape()) {
    throw InvalidArgument(name, "the target must be " + to_string(want) + " for x " +
                                    to_string(impl.shape()) + ", not " + to_string(to.shape()));
  }
}

/// Of logarithms of probabilities, with smoothing as PyTorch's cross_entropy.
Tensor class_loss(const char* name, const Tensor& x, const Tensor& target,
                  const CrossEntropyOptions& o) {
  check_classes(name, x, target);
  const int64_t d = class_dim(x);
  const int64_t classes = x.size(d);
  check_weight(name, o.weight, classes, x.dtype());
  const Tensor valid = ne(target, o.ignore_index);
  const Tensor safe = where(valid, target, Scalar(0));
  const Tensor picked = gather(x, d, safe.unsqueeze(d)).squeeze(d);
  Tensor weights = valid.to(x.dtype());
  if (o.weight.defined()) {
    const Tensor each = index_select(o.weight, 0, safe.reshape({safe.numel()}));
    weights = where(valid, each.reshape(safe.shape()), Scalar(0));
  }
  // Not a product with 0, which infinities would survive as NaN.
  Tensor losses = where(valid, neg(picked) * weights, Scalar(0));
  if (o.label_smoothing > 0) {
    Tensor logs = x;
    if (o.weight.defined()) {
      Shape shape(static_cast<size_t>(x.dim()), 1);
      shape[static_cast<size_t>(d)] = classes;
      logs = x * o.weight.view(shape);
    }
    const Tensor even = where(valid, neg(sum(logs, {d})), Scalar(0));
    losses = losses * (1 - o.label_smoothing) +
             even * (o.label_smoothing / static_cast<double>(classes));
  }
  if (o.reduction != Reduction::kMean) return reduced(losses, o.reduction);
  return sum(losses) / sum(weights);
}

/// The target holds the probability of each class.
Tensor probability_loss(const Tensor& x, const Tensor& target, const CrossEntropyOptions& o) {
  const int64_t d = class_dim(x);
  const int64_t classes = x.size(d);
  check_weight("cross_entropy", o.weight, classes, x.dtype());
  Tensor part = target;
  if (o.label_smoothing > 0) {
    part = target * (1 - o.label_smoothing) + o.label_smoothing / static_cast<double>(classes);
  }
  Tensor products = log_softmax(x, d) * part;
  if (o.weight.defined()) {
    Shape shape(static_cast<size_t>(x.dim()), 1);
    shape[static_cast<size_t>(d)] = classes;
    products = products * o.weight.view(shape);
  }
  return reduced(neg(sum(products, {d})), o.reduction);
}

Tensor difference(const char* name, const Tensor& x, const Tensor& target) {
  require_floating(detail::impl_of(x, name).dtype, name);
  require_floating(detail::impl_of(target, name).dtype, name);
  ops::common_device({&x, &target}, name);
  return x - target;
}

}  // namespace

Tensor nll_loss(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options) {
  if (options.label_smoothing != 0) {
    throw InvalidArgument("nll_loss", "has no label smoothing; cross_entropy has");
  }
  return class_loss("nll_loss", x, target, options);
}

Tensor cross_entropy(const Tensor& x, const Tensor& target, const CrossEntropyOptions& options) {
  const detail::TensorImpl& impl = detail::impl_of(x, "cross_entropy");
  const detail::TensorImpl& to = detail::impl_of(target, "cross_entropy");
  require_floating(impl.dtype, "cross_entropy");
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    throw InvalidArgument("cross_entropy", "label_smoothing must be from 0 to 1, and is " +
                                               std::to_string(options.label_smoothing));
  }
  if (impl.ndim == 0) throw InvalidArgument("cross_entropy", "x has no dimension of classes");
  if (!is_floating_point(to.dtype)) {
    check_classes("cross_entropy", x, target);
    return class_loss("cross_entropy", log_softmax(x, class_dim(x)), target, options);
  }
  ops::common_device({&x, &target}, "cross_entropy");
  ops::require_same_dtype(x, target, "cross_entropy");
  if (x.shape() != target.shape()) {
    throw InvalidArgument("cross_entropy", "probabilities must have the shape of x: " +
                                               both_shapes(x, target) + "; classes are int64");
  }
  return probability_loss(x, target, options);
}

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduced(square(difference("mse_loss", x, target)), reduction);
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return reduced(abs(difference("l1_loss", x, target)), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction, double beta) {
  if (!(beta >= 0)) {
    throw InvalidArgument("smooth_l1_loss",
                          "beta must not be negative, and is " + std::to_string(beta));
  }
  const Tensor d = abs(difference("smooth_l1_loss", x, target));
  if (beta == 0) return reduced(d, reduction);
  return reduced(where(lt(d, beta), square(d) * (0.5 / beta), d - 0.5 * beta), reduction);
}

Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
  if (!(delta > 0)) {
    throw InvalidArgument("huber_loss", "delta must be above 0, and is " + std::to_string(delta));
  }
  const Tensor d = abs(difference("huber_loss", x, target));
  return reduced(where(le(d, delta), square(d) * 0.5, (d - 0.5 * delta) * delta), reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                        const BinaryCrossEntropyOptions& options) {
  const char* const name = "binary_cross_entropy_with_logits";
  require_floating(detail::impl_of(x, name).dtype, name);
  require_floating(detail::impl_of(target, name).dtype, name);
  ops::common_device({&x, &target, &options.weight, &options.pos_weight}, name);
  if (x.shape() != target.shape()) {
    throw InvalidArgument(name, "x and target differ in shape: " + both_shapes(x, target));
  }
  // log(1 + exp(-x)) = max(-x, 0) + log1p(exp(-|x|)).
  const Tensor log_part = log1p(exp(neg(abs(x)))) + relu(neg(x));
  Tensor losses = (1 - target) * x;
  if (options.pos_weight.defined()) {
    losses = losses + ((options.pos_weight - 1) * target + 1) * log_part;
  } else {
    losses = losses + log_part;
  }
  if (options.weight.defined()) losses = losses * options.weight;
  return reduced(losses, options.reduction);
}

Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction, bool log_target) {
  const Tensor d = difference("kl_div", x, target);  // checks
  if (log_target) return reduced(exp(target) * neg(d), reduction);
  // 0 log 0 is 0.
  const Tensor logs = where(gt(target, 0), log(target), Scalar(0));
  return reduced(target * (logs - x), reduction);
}

}  // namespace ferry
