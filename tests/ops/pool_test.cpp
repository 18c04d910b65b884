// SPDX-License-Identifier: Apache-2.0
//
// Pooling over a grid of its attributes.
#include <cmath>
#include <limits>

#include "common.h"
#include "reference/network.h"

namespace ferry::test {
namespace {

using reference::Array;

class Pooling : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Pooling);

ferry_pool_attr attr_of(const Pool2dOptions& o, bool maximum) {
  return {sizeof(ferry_pool_attr),
          2,
          static_cast<uint32_t>(maximum ? FERRY_POOL_MAX : FERRY_POOL_AVERAGE),
          o.count_include_pad ? 1u : 0u,
          {o.kernel[0], o.kernel[1], 1},
          {o.stride[0] == 0 ? o.kernel[0] : o.stride[0],
           o.stride[1] == 0 ? o.kernel[1] : o.stride[1], 1},
          {o.padding[0], o.padding[1], 0},
          {o.dilation[0], o.dilation[1], 1}};
}

TEST_P(Pooling, GridOfAttributes) {
  for (const DType dtype : kFloatDtypes) {
    const Array x = rounded(random_array({2, 3, 7, 10}, 3, 6), dtype);
    const Tensor t = make(x, dtype);
    for (const int64_t kernel : {2, 3}) {
      for (const int64_t stride : {0, 1, 2}) {
        for (const int64_t padding : {0, 1}) {
          for (const bool ceil : {false, true}) {
            Pool2dOptions o;
            o.kernel = {kernel, 3};
            o.stride = {stride, 2};
            o.padding = {padding, 1};
            o.ceil_mode = ceil;
            const Tensor most = max_pool2d(t, o);
            EXPECT_TRUE(matches(most, reference::pool(x, attr_of(o, true), most.shape()), 0));
            for (const bool counted : {true, false}) {
              o.count_include_pad = counted;
              const Tensor mean = avg_pool2d(t, o);
              EXPECT_TRUE(matches(mean, reference::pool(x, attr_of(o, false), mean.shape()),
                                  4 * unit_of(dtype == kF64 ? kF64 : kF32), 1e-7))
                  << kernel << stride << padding << ceil << counted;
            }
            o.dilation = {2, 1};
            const Tensor spread = max_pool2d(t, o);
            EXPECT_TRUE(matches(spread, reference::pool(x, attr_of(o, true), spread.shape()), 0));
          }
        }
      }
    }
  }
}

TEST_P(Pooling, CeilModeHasTheSizesOfPyTorch) {
  const auto sizes = [&](int64_t in, int64_t kernel, int64_t stride, int64_t padding) {
    Pool2dOptions o;
    o.kernel = {kernel, 1};
    o.stride = {stride, 1};
    o.padding = {padding, 0};
    o.ceil_mode = true;
    return max_pool2d(ones({1, 1, in, 1}, TensorOptions(device())), o).size(2);
  };
  EXPECT_EQ(sizes(5, 2, 2, 0), 3);
  EXPECT_EQ(sizes(6, 2, 2, 0), 3);
  EXPECT_EQ(sizes(7, 3, 2, 1), 4);
  EXPECT_EQ(sizes(4, 2, 3, 1), 2);  // a third window would begin in the padding
}

TEST_P(Pooling, MaximumHandsNanOn) {
  Array x({1, 1, 2, 4});
  x.at(5) = std::nan("");
  const std::vector<float> got = max_pool2d(make(x, kF32), {}).to_vector<float>();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], 0);
}

TEST_P(Pooling, StridedInputsAndOneImage) {
  const Array x = rounded(random_array({2, 3, 8, 6}, 3, 7), kF32);
  const Tensor t = make(x, kF32);
  for (const Tensor& view : {t.transpose(2, 3), t.slice(3, 0, 6, 2).narrow(1, 1, 2),
                             t.narrow(0, 1, 1).expand({4, 3, 8, 6})}) {
    const Tensor most = max_pool2d(view, {});
    EXPECT_TRUE(matches(most, reference::pool(array_of(view), attr_of({}, true), most.shape()), 0));
    const Tensor mean = avg_pool2d(view, {});
    EXPECT_TRUE(matches(mean, reference::pool(array_of(view), attr_of({}, false), mean.shape()),
                        4 * unit_of(kF32), 1e-7));
  }
  EXPECT_EQ(max_pool2d(t[0], {}).shape(), (Shape{3, 4, 3}));
  EXPECT_TRUE(equal(max_pool2d(t[0], {}), max_pool2d(t, {})[0]));
  EXPECT_EQ(avg_pool2d(empty({0, 3, 8, 6}, TensorOptions(device())), {}).shape(),
            (Shape{0, 3, 4, 3}));
}

TEST_P(Pooling, MaximumOfTheLowestValues) {
  const float lowest = -std::numeric_limits<float>::infinity();
  Pool2dOptions o;
  o.padding = {1, 1};
  const Tensor none = max_pool2d(full({1, 1, 2, 2}, lowest, TensorOptions(device())), o);
  EXPECT_EQ(none.to_vector<float>(), std::vector<float>(4, lowest));
  // Padding is lower than every element, also than negative ones.
  const Tensor negative = max_pool2d(full({1, 1, 2, 2}, -3.0, TensorOptions(device())), o);
  EXPECT_EQ(negative.to_vector<float>(), std::vector<float>(4, -3));
}

TEST_P(Pooling, RefusesWhatDoesNotFit) {
  const TensorOptions on(device());
  const Tensor x = ones({1, 4, 5, 5}, on);
  Pool2dOptions p;
  p.padding = {2, 0};
  EXPECT_NE(error_of([&] { (void)max_pool2d(x, p); }).find("half"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)max_pool2d(ones({4}, on), {}); }).find("[4]"), std::string::npos);
  p.padding = {0, 0};
  p.kernel = {6, 1};
  const std::string text = error_of([&] { (void)avg_pool2d(x, p); });
  EXPECT_TRUE(text.starts_with("[avg_pool2d]")) << text;
  p.kernel = {0, 1};
  EXPECT_NE(error_of([&] { (void)max_pool2d(x, p); }).find("kernel"), std::string::npos);
  p.kernel = {2, 2};
  p.stride = {-1, 1};
  EXPECT_NE(error_of([&] { (void)max_pool2d(x, p); }).find("stride"), std::string::npos);
}

}  // namespace
}  // namespace ferry::test
