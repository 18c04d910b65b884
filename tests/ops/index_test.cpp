// SPDX-License-Identifier: Apache-2.0
//
// index_select, gather, embedding, cat, equal and allclose.
#include <cmath>
#include <limits>

#include "common.h"
#include "ferry/memory.h"
#include "reference/network.h"

namespace ferry::test {
namespace {

using reference::Array;

class Indexing : public OnDevice {
 protected:
  Tensor index(std::initializer_list<int64_t> values) const {
    return tensor<int64_t>(values, device());
  }
};
FERRY_ON_EVERY_DEVICE(Indexing);

TEST_P(Indexing, SelectsAlongEachDimensionForAllDtypes) {
  const Array values = random_array({4, 5, 3}, 50, 1);
  for (const DType dtype : kAllDtypes) {
    const Array x = rounded(values, dtype);
    const Tensor t = make(x, dtype);
    for (size_t d = 0; d < 3; ++d) {
      const auto dim = static_cast<int64_t>(d);
      const Array want = reference::gather_select(x, {2, 0, 2, 1}, d);
      EXPECT_TRUE(matches(index_select(t, dim, index({2, 0, 2, 1})), want, 0)) << name(dtype);
      EXPECT_TRUE(matches(index_select(t, dim - 3, index({2, 0, 2, 1}).to(kI32)), want, 0));
    }
  }
}

TEST_P(Indexing, GathersElementsAlongEachDimension) {
  const Array x = rounded(random_array({4, 5, 3}, 50, 3), kI16);
  const Tensor t = make(x, kI16);
  for (size_t d = 0; d < 3; ++d) {
    // Fewer indices than elements in the other dimensions are allowed.
    for (const Shape& shape : {Shape{4, 5, 3}, Shape{2, 2, 2}, Shape{3, 5, 1}, Shape{0, 5, 3}}) {
      Array at = random_array(shape, 1, 4);
      for (double& v : at.data) v = std::floor((v + 1) / 2 * static_cast<double>(x.size(d)));
      const Tensor got = gather(t, static_cast<int64_t>(d), make(at, kI64));
      EXPECT_TRUE(matches(got, reference::gather_element(x, at, d), 0)) << to_string(shape);
    }
  }
}

TEST_P(Indexing, LongIndices) {
  const Array x = rounded(random_array({1000, 7}, 50, 5), kF32);
  std::vector<int64_t> rows(4099);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i * 617 % 1000);
  const Tensor got = index_select(make(x, kF32), 0, tensor(rows, {4099}, device()));
  EXPECT_TRUE(matches(got, reference::gather_select(x, rows, 0), 0));
}

TEST_P(Indexing, StridedOperandsAndFewerIndices) {
  const Array x = rounded(random_array({6, 7}, 5, 2), kF32);
  const Tensor t = make(x, kF32);
  EXPECT_TRUE(equal(index_select(t.t(), 0, index({6, 1})), index_select(t, 1, index({6, 1})).t()));
  const Tensor rows = tensor<int64_t>({0, 1, 5, 3, 2, 2}, device()).view({2, 3});
  const Array got = array_of(gather(t, 0, rows));
  const std::vector<int64_t> flat = {0, 1, 5, 3, 2, 2};
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(got.at(i), x.at(flat[static_cast<size_t>(i)] * 7 + i % 3));
  }
  const Array turned = array_of(gather(t.t(), 1, rows));
  for (int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(turned.at(i), x.at(flat[static_cast<size_t>(i)] * 7 + i / 3));
  }
}

TEST_P(Indexing, EmbeddingOfAnyShape) {
  const Tensor weight = arange(0, 12, 1, TensorOptions(device())).view({4, 3}).to(kF32);
  const Tensor got = embedding(weight, index({3, 0, 1, 1}).view({2, 2}));
  EXPECT_EQ(got.shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(got.to_vector<float>(), (std::vector<float>{9, 10, 11, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(embedding(weight, index({})).shape(), (Shape{0, 3}));
  EXPECT_EQ(embedding(weight, index({2}).view({})).shape(), (Shape{3}));
}

TEST_P(Indexing, OutsideIsAnErrorAndTheDeviceGoesOn) {
  const Tensor t = ones({3, 2}, TensorOptions(device()));
  for (const int64_t bad : {int64_t{3}, int64_t{-1}, std::numeric_limits<int64_t>::max(),
                            std::numeric_limits<int64_t>::min()}) {
    const std::string texts[] = {error_of([&] {
                                   (void)index_select(t, 0, index({0, bad}));
                                   synchronize(device());
                                 }),
                                 error_of([&] {
                                   (void)embedding(t, index({bad, 1}));
                                   synchronize(device());
                                 }),
                                 error_of([&] {
                                   (void)gather(t, 0, index({1, bad}).view({1, 2}));
                                   synchronize(device());
                                 })};
    for (const std::string& text : texts) {
      EXPECT_NE(text.find(std::to_string(bad)), std::string::npos) << text;
      EXPECT_NE(text.find("0..2"), std::string::npos) << text;
    }
    EXPECT_EQ(sum(index_select(t, 0, index({2, 2}))).item<float>(), 4);
    synchronize(device());
  }
  EXPECT_EQ(sum(t).item<float>(), 6);
}

TEST_P(Indexing, RefusesWhatDoesNotFit) {
  const Tensor t = ones({3, 2}, TensorOptions(device()));
  EXPECT_NE(error_of([&] {
              (void)index_select(t, 0, ones({2}, TensorOptions(device())));
            }).find("float32"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)index_select(t, 0, index({1, 2}).view({1, 2}));
            }).find("1-D"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              (void)index_select(empty({0, 2}, TensorOptions(device())), 0, index({0}));
            }).find("empty"),
            std::string::npos);
}

TEST_P(Indexing, CatJoinsAndPromotes) {
  const Tensor a = ones({2, 3}, TensorOptions(device()));
  const Tensor b = zeros({2, 1}, TensorOptions(kI32, device()));
  const Tensor got = cat({a, b, a.slice(1, 0, 2)}, -1);
  EXPECT_EQ(got.shape(), (Shape{2, 6}));
  EXPECT_EQ(got.dtype(), kF32);
  EXPECT_EQ(got.to_vector<float>(), (std::vector<float>{1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1}));
  EXPECT_EQ(cat({empty({0}, TensorOptions(device())), a}, 0).shape(), (Shape{2, 3}));
  EXPECT_EQ(cat({empty({0, 3}, TensorOptions(device())), a}, 0).shape(), (Shape{2, 3}));
  EXPECT_NE(error_of([&] { (void)cat({a, b}, 0); }).find("[2, 3] and [2, 1]"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)cat({}); }).find("no tensors"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)cat({full({}, 1.0, TensorOptions(device()))}); }).find("0-dim"),
            std::string::npos);
}

TEST_P(Indexing, CatAlongEachDimensionOfViews) {
  const Array x = rounded(random_array({3, 4, 5}, 9, 6), kF32);
  const Tensor t = make(x, kF32);
  for (int64_t d = 0; d < 3; ++d) {
    const Tensor parts[] = {t.narrow(d, 0, 1), t.narrow(d, 1, 2), t.narrow(d, 0, 0)};
    const Tensor got = cat({parts[0], parts[1], parts[2]}, d);
    EXPECT_TRUE(equal(got, t.narrow(d, 0, 3))) << d;
    EXPECT_TRUE(got.is_contiguous());
    EXPECT_FALSE(got.shares_storage(t));
    const Tensor turned = t.transpose(0, 2);
    EXPECT_TRUE(equal(cat({turned, turned}, d).narrow(d, turned.size(d), turned.size(d)), turned));
  }
  for (const DType dtype : kAllDtypes) {
    const Tensor u = make(rounded(x, dtype), dtype);
    const Tensor joined = cat({u, u}, 1);
    EXPECT_EQ(joined.dtype(), dtype);
    EXPECT_TRUE(equal(joined.narrow(1, 4, 4), u)) << name(dtype);
    const Tensor mixed = cat({u, make(rounded(x, kI16), kI16)});
    EXPECT_EQ(mixed.dtype(), promote_types(dtype, kI16));
    EXPECT_TRUE(equal(mixed.narrow(0, 3, 3), make(rounded(x, kI16), kI16).to(mixed.dtype())));
  }
  const Tensor whole = cat(std::vector<Tensor>(100, t), -1);
  EXPECT_EQ(whole.shape(), (Shape{3, 4, 500}));
  EXPECT_TRUE(equal(whole.narrow(2, 495, 5), t));
}

TEST_P(Indexing, EqualAndAllclose) {
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor a = tensor<float>({1, inf, -inf}, device());
  EXPECT_TRUE(equal(a, a.clone()));
  EXPECT_FALSE(equal(a, a.slice(0, 0, 2)));
  EXPECT_TRUE(allclose(a, a));
  EXPECT_FALSE(allclose(a, tensor<float>({1, 1, -inf}, device())));
  EXPECT_FALSE(allclose(tensor<float>({1}, device()), tensor<float>({inf}, device())));
  const Tensor b = tensor<float>({nan}, device());
  EXPECT_FALSE(equal(b, b));
  EXPECT_FALSE(allclose(b, b));
  EXPECT_TRUE(allclose(b, b, 1e-5, 1e-8, true));
  EXPECT_TRUE(allclose(ones({2}, device()), full({2}, 1.000005, TensorOptions(device()))));
  EXPECT_FALSE(allclose(ones({2}, device()), full({2}, 1.00005, TensorOptions(device()))));
  EXPECT_TRUE(equal(empty({0}, device()), empty({0}, device())));
  EXPECT_TRUE(equal(full({}, 2, device()), full({}, 2, device())));
  EXPECT_FALSE(equal(ones({2, 3}, device()), ones({3, 2}, device())));
  // Integers that a double or float cannot tell apart.
  const Tensor big = tensor<int64_t>({9007199254740992}, device());
  EXPECT_FALSE(equal(big, big + 1));
  EXPECT_TRUE(allclose(tensor<int32_t>({1000, 7}, device()), tensor<int32_t>({1000, 7}, device())));
  EXPECT_FALSE(
      allclose(tensor<int32_t>({1000, 7}, device()), tensor<int32_t>({1000, 8}, device())));
  EXPECT_NE(error_of([&] { (void)allclose(a, a, -1); }).find("negative"), std::string::npos);
}

}  // namespace
}  // namespace ferry::test
