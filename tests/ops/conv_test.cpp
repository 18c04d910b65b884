// SPDX-License-Identifier: Apache-2.0
//
// Convolution and pooling over a grid of their attributes.
#include <cmath>
#include <limits>

#include "common.h"
#include "reference/network.h"

namespace ferry::test {
namespace {

using reference::Array;
using reference::Bounded;

class Convolution : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Convolution);

ferry_conv_attr attr_of(const Conv2dOptions& o) {
  return {sizeof(ferry_conv_attr),           2,
          {o.stride[0], o.stride[1], 1},     {o.padding[0], o.padding[1], 0},
          {o.dilation[0], o.dilation[1], 1}, o.groups};
}

TEST_P(Convolution, GridOfAttributes) {
  const Array x = random_array({2, 4, 9, 8}, 1, 1);
  for (const int64_t groups : {1, 2, 4}) {
    for (const int64_t kernel : {1, 2, 3}) {
      for (const int64_t stride : {1, 2}) {
        for (const int64_t padding : {0, 2}) {
          for (const int64_t dilation : {1, 2}) {
            Conv2dOptions o;
            o.stride = {stride, 1};
            o.padding = {padding, 1};
            o.dilation = {dilation, 1};
            o.groups = groups;
            const Array w = random_array({8, 4 / groups, kernel, 2}, 1, 2);
            const Array b = random_array({8}, 1, 3);
            const bool with_bias = kernel != 2;
            const DType dtype = kF32;
            const Tensor got =
                conv2d(make(x, dtype), make(w, dtype), with_bias ? make(b, dtype) : Tensor(), o);
            const Bounded want =
                reference::conv(rounded(x, dtype), rounded(w, dtype),
                                with_bias ? rounded(b, dtype) : Array(), attr_of(o), got.shape());
            ASSERT_EQ(got.size(2), (9 + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1);
            const double terms = static_cast<double>(4 / groups * kernel * 2 + 3);
            ASSERT_TRUE(matches(got, want.value, want.size, terms * unit_of(kF32)))
                << "groups " << groups << " kernel " << kernel << " stride " << stride
                << " padding " << padding << " dilation " << dilation;
          }
        }
      }
    }
  }
}

TEST_P(Convolution, DtypesAndStridedInputs) {
  for (const DType dtype : kFloatDtypes) {
    const Array x = rounded(random_array({3, 5, 6, 7}, 1, 4), dtype);
    const Array w = rounded(random_array({6, 5, 3, 3}, 1, 5), dtype);
    const Tensor tx = make(x, dtype);
    const Tensor tw = make(w, dtype);
    Conv2dOptions o;
    o.padding = {1, 1};
    const double relative = 48 * unit_of(dtype == kF64 ? kF64 : kF32);
    Bounded want = reference::conv(x, w, Array(), attr_of(o), {3, 6, 6, 7});
    EXPECT_TRUE(matches(conv2d(tx, tw, {}, o), want.value, want.size, relative)) << name(dtype);
    const Tensor turned = tx.transpose(2, 3);
    want = reference::conv(array_of(turned), w, Array(), attr_of(o), {3, 6, 7, 6});
    EXPECT_TRUE(matches(conv2d(turned, tw, {}, o), want.value, want.size, relative));
  }
}

TEST_P(Convolution, EmptyBatchAndOneImage) {
  const TensorOptions on(device());
  EXPECT_EQ(conv2d(ones({0, 3, 4, 4}, on), ones({2, 3, 2, 2}, on)).shape(), (Shape{0, 2, 3, 3}));
  EXPECT_EQ(conv2d(ones({3, 4, 4}, on), ones({2, 3, 2, 2}, on)).to_vector<float>(),
            (std::vector<float>(18, 12)));
  EXPECT_EQ(max_pool2d(ones({3, 4, 4}, on), {}).shape(), (Shape{3, 2, 2}));
}

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

TEST_P(Convolution, PoolingGrid) {
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

TEST_P(Convolution, CeilModeHasTheSizesOfPyTorch) {
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

TEST_P(Convolution, MaximumHandsNanOn) {
  Array x({1, 1, 2, 4});
  x.at(5) = std::nan("");
  const std::vector<float> got = max_pool2d(make(x, kF32), {}).to_vector<float>();
  EXPECT_TRUE(std::isnan(got[0]));
  EXPECT_EQ(got[1], 0);
}

TEST_P(Convolution, RefusesWhatDoesNotFit) {
  const TensorOptions on(device());
  const Tensor x = ones({1, 4, 5, 5}, on);
  EXPECT_NE(error_of([&] {
              (void)conv2d(x, ones({2, 3, 3, 3}, on));
            }).find("[2, 3, 3, 3]"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)conv2d(x, ones({2, 4, 6, 3}, on));
            }).find("size 6"),
            std::string::npos);
  Conv2dOptions o;
  o.stride = {0, 1};
  EXPECT_NE(error_of([&] {
              (void)conv2d(x, ones({2, 4, 3, 3}, on), {}, o);
            }).find("stride"),
            std::string::npos);
  o.stride = {1, 1};
  o.padding = {int64_t{1} << 62, 0};
  EXPECT_NE(error_of([&] {
              (void)conv2d(x, ones({2, 4, 3, 3}, on), {}, o);
            }).find("padding"),
            std::string::npos);
  Pool2dOptions p;
  p.padding = {2, 0};
  EXPECT_NE(error_of([&] { (void)max_pool2d(x, p); }).find("half"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)max_pool2d(ones({4}, on), {}); }).find("[4]"), std::string::npos);
}

}  // namespace
}  // namespace ferry::test
