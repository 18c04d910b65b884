// SPDX-License-Identifier: Apache-2.0
//
// ferry-bench-start: the whole life of a process that adds two small tensors.
// It is a program of its own, because ferry-bench loads its peers at start.
#include "ferry/ferry.h"

int main() {
  const ferry::Tensor a = ferry::ones({2, 2});
  const ferry::Tensor sum = a + a;
  return ferry::sum(sum).item<float>() == 8 ? 0 : 1;
}
