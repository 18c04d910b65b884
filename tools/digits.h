// SPDX-License-Identifier: Apache-2.0
//
// The handwritten digits of the demo and the network that reads them.
#ifndef FERRY_TOOLS_DIGITS_H
#define FERRY_TOOLS_DIGITS_H

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "ferry/nn.h"
#include "ferry/tensor.h"

namespace ferry::tools {

/// Grey pictures of digits and which digit each is.
struct Digits {
  int64_t count = 0, height = 0, width = 0;
  std::vector<uint8_t> pixels;  ///< count * height * width
  std::vector<uint8_t> labels;  ///< count, 0 to 9

  std::span<const uint8_t> picture(int64_t index) const;
  /// As the network takes them: [count, 1, height, width], f32, on the CPU.
  Tensor images() const;
};

/// Reads test-images.idx3-ubyte and test-labels.idx1-ubyte. FileError where
/// one is absent or not of that form.
Digits read_digits(const std::filesystem::path& folder);

/// Where the data lies: beside the installed command, else in the source tree.
std::filesystem::path digits_folder();

/// The network of examples/digits/train.py.
class DigitNet : public nn::Module {
 public:
  nn::Sequential features{nn::Conv2d(1, 16, 3, {.padding = 1}),
                          nn::BatchNorm2d(16),
                          nn::ReLU(),
                          nn::Conv2d(16, 32, 3, {.padding = 1}),
                          nn::BatchNorm2d(32),
                          nn::ReLU(),
                          nn::MaxPool2d(2),
                          nn::Conv2d(32, 64, 3, {.padding = 1}),
                          nn::BatchNorm2d(64),
                          nn::ReLU(),
                          nn::MaxPool2d(2)};
  nn::Sequential classifier{nn::Flatten(), nn::Linear(256, 64), nn::ReLU(), nn::Linear(64, 10)};
  FERRY_MODULE(features, classifier)

  /// x [N, 1, 8, 8]; the logits [N, 10].
  Tensor forward(const Tensor& x) const { return classifier(features(x)); }
};

}  // namespace ferry::tools

#endif  // FERRY_TOOLS_DIGITS_H
