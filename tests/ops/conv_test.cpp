// SPDX-License-Identifier: Apache-2.0
//
// Convolution over a grid of its attributes.
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

TEST_P(Convolution, OrdinaryLayersOfNetworks) {
  const struct {
    Shape x, w;
    int64_t stride, padding, groups;
  } layers[] = {
      {{2, 3, 32, 32}, {16, 3, 3, 3}, 1, 1, 1},    // the first one
      {{1, 16, 14, 14}, {32, 16, 1, 1}, 1, 0, 1},  // pointwise
      {{2, 24, 9, 9}, {24, 1, 3, 3}, 1, 1, 24},    // depthwise
      {{1, 3, 30, 30}, {8, 3, 7, 7}, 2, 3, 1},    {{1, 6, 11, 11}, {12, 2, 5, 5}, 3, 2, 3},
      {{1, 2, 1, 1}, {3, 2, 1, 1}, 1, 0, 1},      {{1, 1, 1, 40}, {1, 1, 1, 9}, 1, 0, 1},
  };
  for (const auto& layer : layers) {
    const Array x = rounded(random_array(layer.x, 1, 8), kF32);
    const Array w = rounded(random_array(layer.w, 1, 9), kF32);
    Conv2dOptions o;
    o.stride = {layer.stride, layer.stride};
    o.padding = {layer.padding, layer.padding};
    o.groups = layer.groups;
    const Tensor got = conv2d(make(x, kF32), make(w, kF32), {}, o);
    const Bounded want = reference::conv(x, w, Array(), attr_of(o), got.shape());
    const auto terms = static_cast<double>(Array::count(layer.w) / layer.w[0] + 2);
    EXPECT_TRUE(matches(got, want.value, want.size, terms * unit_of(kF32)))
        << to_string(layer.x) << " with " << to_string(layer.w);
  }
}

TEST_P(Convolution, StridedWeightsAndBias) {
  const Array w = rounded(random_array({3, 3, 4, 5}, 1, 12), kF32);
  const Array x = rounded(random_array({1, 4, 6, 6}, 1, 13), kF32);
  const Tensor turned = make(w, kF32).permute({3, 2, 0, 1});  // [5, 4, 3, 3]
  const Tensor bias = make(rounded(random_array({10}, 1, 14), kF32), kF32).slice(0, 0, 10, 2);
  const Bounded want =
      reference::conv(x, array_of(turned), array_of(bias), attr_of({}), {1, 5, 4, 4});
  EXPECT_TRUE(
      matches(conv2d(make(x, kF32), turned, bias), want.value, want.size, 40 * unit_of(kF32)));
  const Tensor repeated = make(x, kF32).expand({3, 4, 6, 6});
  const Tensor got = conv2d(repeated, turned, bias);
  EXPECT_TRUE(equal(got[0], got[2]));
  EXPECT_TRUE(matches(got.narrow(0, 1, 1), want.value, want.size, 40 * unit_of(kF32)));
}

TEST_P(Convolution, EmptyBatchAndOneImage) {
  const TensorOptions on(device());
  EXPECT_EQ(conv2d(ones({0, 3, 4, 4}, on), ones({2, 3, 2, 2}, on)).shape(), (Shape{0, 2, 3, 3}));
  EXPECT_EQ(conv2d(ones({3, 4, 4}, on), ones({2, 3, 2, 2}, on)).to_vector<float>(),
            (std::vector<float>(18, 12)));
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
}

}  // namespace
}  // namespace ferry::test
