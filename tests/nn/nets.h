// SPDX-License-Identifier: Apache-2.0
//
// The networks of the nn tests, as make_fixtures.py has them.
#ifndef FERRY_TESTS_NN_NETS_H
#define FERRY_TESTS_NN_NETS_H

#include <optional>
#include <string>
#include <vector>

#include "ferry/nn.h"
#include "ferry/ops.h"

namespace ferry::tests {

/// The network of the documentation.
class Net : public nn::Module {
 public:
  nn::Linear fc1{10, 5};
  nn::Linear fc2{5, 1};
  FERRY_MODULE(fc1, fc2)
  Tensor forward(const Tensor& x) const { return fc2(fc1(x)); }
};

/// Parameters, buffers and a vector beside each other.
class Blocks : public nn::Module {
 public:
  nn::Linear stem{3, 4};
  nn::Parameter scale{ones({4})};
  std::vector<nn::Linear> layers{nn::Linear(4, 4), nn::Linear(4, 4)};
  nn::Buffer shift_{zeros({4})};
  nn::Sequential head{nn::ReLU(), nn::Linear(4, 2, {.bias = false})};
  FERRY_MODULE(stem, scale, layers, shift_, head)

  Tensor forward(const Tensor& x) const {
    Tensor y = stem(x) * scale + shift_;
    for (const nn::Linear& layer : layers) y = tanh(layer(y));
    return head(y);
  }
};

/// A table of words used twice: on the way in and on the way out.
class Lm : public nn::Module {
 public:
  nn::Embedding embedding{11, 6};
  nn::LayerNorm norm{6};
  nn::Linear head{6, 11, {.bias = false}};
  FERRY_MODULE(embedding, norm, head)

  Lm() { head.weight = embedding.weight; }
  Tensor forward(const Tensor& index) const { return head(norm(embedding(index))); }
};

/// Every kind of layer for images.
inline nn::Sequential convnet() {
  return nn::Sequential(
      nn::Conv2d(2, 4, 3, {.padding = 1}), nn::BatchNorm2d(4), nn::SiLU(), nn::MaxPool2d(2),
      nn::Conv2d(4, 8, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .groups = 2, .bias = false}),
      nn::GELU(), nn::AvgPool2d(2, {.stride = 1, .padding = 1, .count_include_pad = false}),
      nn::Conv2d(8, 4, 2, {.dilation = 2}), nn::Sigmoid(), nn::Flatten(), nn::Linear(8, 5),
      nn::Softmax(1));
}

inline std::vector<std::string> names_of(const StateDict& state) {
  std::vector<std::string> out;
  for (const auto& [name, tensor] : state) out.push_back(name);
  return out;
}

/// All values of a module, to be compared later.
inline std::vector<std::vector<double>> values_of(const nn::Module& module) {
  std::vector<std::vector<double>> out;
  for (const auto& [name, tensor] : module.state_dict()) {
    out.push_back(tensor.cpu().to(kF64).to_vector<double>());
  }
  return out;
}

/// The text of the exception of type E that `function` throws; empty where it
/// throws none.
template <class E, class Function>
std::string text_of(Function&& function) {
  try {
    function();
  } catch (const E& e) {
    return e.what();
  }
  return {};
}

}  // namespace ferry::tests

#endif  // FERRY_TESTS_NN_NETS_H
