// SPDX-License-Identifier: Apache-2.0
//
// Sequential and the layers it holds.
#include "ferry/nn/sequential.h"

#include "ferry/error.h"
#include "nn/repr.h"

namespace ferry::nn {

Layer::~Layer() = default;

void Layer::throw_wrong_type(const std::type_info& wanted) const {
  throw InvalidArgument(
      "Layer", "this layer is a " + module().type_name() + ", not a " + class_name(wanted));
}

void Sequential::list_parts(Parts& parts) {
  for (size_t i = 0; i < layers_.size(); ++i) parts.add(std::to_string(i), layers_[i].module());
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor out = x;
  for (const Layer& layer : layers_) out = layer(out);
  return out;
}

const Layer& Sequential::operator[](int64_t index) const {
  const auto count = static_cast<int64_t>(layers_.size());
  if (index < -count || index >= count) {
    throw InvalidArgument("Sequential", "there is no layer " + std::to_string(index) + " among " +
                                            std::to_string(count));
  }
  return layers_[static_cast<size_t>(index < 0 ? index + count : index)];
}

Layer& Sequential::operator[](int64_t index) {
  return const_cast<Layer&>(std::as_const(*this)[index]);
}

}  // namespace ferry::nn
