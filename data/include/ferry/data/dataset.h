// SPDX-License-Identifier: Apache-2.0
//
// Dataset: numbered examples, each an input and its target.
//
// Everything of ferry/data lies in the library ferry::data, beside libferry.
#ifndef FERRY_DATA_DATASET_H
#define FERRY_DATA_DATASET_H

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "ferry/export.h"
#include "ferry/random.h"
#include "ferry/tensor.h"

namespace ferry::data {

/// An input and its target; as a batch, each with one dimension more in front.
/// The target may be undefined, in all examples of a dataset or in none.
struct Example {
  Tensor data;
  Tensor target;
};

/// Turns one input into another. The generator belongs to this example in this
/// epoch. Called from several threads at a time.
using Transform = std::function<Tensor(const Tensor& x, Generator g)>;

/// Numbered examples. get() is const and called from several threads at a time.
class FERRY_API Dataset {
 public:
  virtual ~Dataset();
  virtual int64_t size() const = 0;
  /// Example `index`, which is in [0, size()). What is random in it comes from
  /// `g` alone, so that it does not depend on threads or on the order.
  virtual Example get(int64_t index, Generator g) const = 0;
};

/// Rows of tensors with the same first size. `target` may be undefined.
class FERRY_API TensorDataset : public Dataset {
 public:
  /// InvalidArgument where the first sizes differ or `data` has none.
  explicit TensorDataset(Tensor data, Tensor target = {}, Transform transform = {});
  int64_t size() const override { return data_.size(0); }
  Example get(int64_t index, Generator g) const override;
  const Tensor& data() const noexcept { return data_; }
  const Tensor& target() const noexcept { return target_; }

 private:
  Tensor data_, target_;
  Transform transform_;
};

}  // namespace ferry::data

#endif  // FERRY_DATA_DATASET_H
