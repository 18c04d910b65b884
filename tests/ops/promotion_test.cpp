// SPDX-License-Identifier: Apache-2.0
//
// Type promotion equals PyTorch's for all pairs of operands.
#include "common.h"

namespace ferry::test {
namespace {

enum Kind { kDims, kZeroDim };

struct Pair {
  Kind kind_a;
  DType a;
  Kind kind_b;
  DType b;
  DType add, div, eq;
};
struct Number {
  Kind kind;
  DType a;
  Scalar number;
  DType add, div, eq;
};

const std::vector<Pair>& pairs() {
  static const std::vector<Pair> list = {
#define PAIR(kind_a, a, kind_b, b, add, div, eq) {kind_a, a, kind_b, b, add, div, eq},
#define NUMBER(...)
#include "promotion.inc"
#undef PAIR
#undef NUMBER
  };
  return list;
}
const std::vector<Number>& numbers() {
  static const std::vector<Number> list = {
#define PAIR(...)
#define NUMBER(kind, a, number, add, div, eq) {kind, a, Scalar(number), add, div, eq},
#include "promotion.inc"
#undef PAIR
#undef NUMBER
  };
  return list;
}

class Promotion : public OnDevice {
 protected:
  Tensor of(Kind kind, DType dtype) const {
    const TensorOptions options(dtype, device());
    return kind == kDims ? ones({2}, options) : ones({}, options);
  }
};
FERRY_ON_EVERY_DEVICE(Promotion);

TEST_P(Promotion, OfTwoTensors) {
  ASSERT_EQ(pairs().size(), 400u);
  for (const Pair& p : pairs()) {
    const Tensor a = of(p.kind_a, p.a);
    const Tensor b = of(p.kind_b, p.b);
    EXPECT_EQ(add(a, b).dtype(), p.add) << name(p.a) << " + " << name(p.b);
    EXPECT_EQ(div(a, b).dtype(), p.div) << name(p.a) << " / " << name(p.b);
    EXPECT_EQ(eq(a, b).dtype(), p.eq) << name(p.a) << " == " << name(p.b);
  }
}

TEST_P(Promotion, OfTensorAndNumber) {
  ASSERT_EQ(numbers().size(), 60u);
  for (const Number& n : numbers()) {
    const Tensor a = of(n.kind, n.a);
    EXPECT_EQ(add(a, n.number).dtype(), n.add) << name(n.a);
    EXPECT_EQ(div(n.number, a).dtype(), n.div) << name(n.a);
    EXPECT_EQ(eq(a, n.number).dtype(), n.eq) << name(n.a);
  }
}

}  // namespace
}  // namespace ferry::test
