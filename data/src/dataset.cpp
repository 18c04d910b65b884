// SPDX-License-Identifier: Apache-2.0
//
// Datasets over tensors in memory.
#include "ferry/data/dataset.h"

#include <utility>

#include <fmt/format.h>

#include "ferry/error.h"

namespace ferry::data {

Dataset::~Dataset() = default;

TensorDataset::TensorDataset(Tensor data, Tensor target, Transform transform)
    : data_(std::move(data)), target_(std::move(target)), transform_(std::move(transform)) {
  if (!data_.defined() || data_.dim() == 0)
    throw InvalidArgument("TensorDataset", "data needs a first dimension of examples");
  if (!target_.defined()) return;
  if (target_.dim() == 0 || target_.size(0) != data_.size(0))
    throw InvalidArgument("TensorDataset",
                          fmt::format("first sizes differ: data {}, target {}",
                                      to_string(data_.shape()), to_string(target_.shape())));
}

Example TensorDataset::get(int64_t index, Generator g) const {
  Example out{data_.select(0, index), target_.defined() ? target_.select(0, index) : Tensor()};
  if (transform_) out.data = transform_(out.data, std::move(g));
  return out;
}

}  // namespace ferry::data
