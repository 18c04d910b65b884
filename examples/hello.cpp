// SPDX-License-Identifier: Apache-2.0
//
// The README's first program: the devices found, and a product on each.
#include <iostream>

#include "ferry/device.h"
#include "ferry/ops.h"

int main() {
  const ferry::Tensor a = ferry::tensor<float>({1, 2, 3, 4, 5, 6}).view({2, 3});
  const ferry::Tensor b = ferry::ones({3, 2});

  for (const ferry::DeviceProperties& p : ferry::devices()) {
    const ferry::Tensor x = a.to(p.device);
    const ferry::Tensor y = ferry::matmul(x, b.to(p.device));
    std::cout << p.device << ": " << p.name << "\n" << y << "\n";
  }
  return 0;
}
