// SPDX-License-Identifier: Apache-2.0
//
// The one include brings all parts of the library, without clashes when both
// namespaces are opened.
#include "ferry/ferry.h"

#include <gtest/gtest.h>

namespace {

using namespace ferry;      // NOLINT(google-build-using-namespace)
using namespace ferry::nn;  // NOLINT(google-build-using-namespace)

TEST(Umbrella, BringsEveryPart) {
  Sequential net(Linear(4, 2), ReLU());
  net.to(Device("cpu"));
  const io::Value value = io::Value::of(net.state_dict().at("0.bias"));
  EXPECT_TRUE(value.is_tensor());
  EXPECT_GT(memory_allocated(Device()), 0u);
  EXPECT_THROW((void)load("/nowhere"), FileError);
  EXPECT_EQ(relu(net(ones({1, 4}))).shape(), (Shape{1, 2}));
}

}  // namespace
