// SPDX-License-Identifier: Apache-2.0
//
// Scattering against a host model: every dtype, dimension and reduction.
#include <algorithm>
#include <cmath>

#include "common.h"
#include "ferry/indexing.h"
#include "ferry/memory.h"

namespace ferry::test {
namespace {

using reference::Array;

class Scattering : public OnDevice {
 protected:
  Tensor at(std::initializer_list<int64_t> values) const {
    return tensor<int64_t>(values, device());
  }
};
FERRY_ON_EVERY_DEVICE(Scattering);

double combine(const std::string& op, double a, double b) {
  if (op == "assign") return b;
  if (op == "sum" || op == "mean") return a + b;
  if (op == "prod") return a * b;
  return op == "amax" ? std::max(a, b) : std::min(a, b);
}

/// What one op after the other makes of x, with rounding after each.
Array model(const std::string& op, Array x, const Array& index, const Array& source, size_t dim,
            DType dtype, bool include_self = true) {
  std::vector<int> met(x.data.size(), include_self ? 1 : 0);
  for (int64_t i = 0; i < static_cast<int64_t>(index.data.size()); ++i) {
    auto p = reference::position(index.shape, i);
    const double value = source.at(reference::number_of(source.shape, p));
    p[dim] = static_cast<int64_t>(index.at(i));
    const auto n = static_cast<size_t>(reference::number_of(x.shape, p));
    double& to = x.data[n];
    to = met[n]++ == 0 ? value : rounded(Array({1}, {combine(op, to, value)}), dtype).at(0);
  }
  if (op != "mean") return x;
  for (size_t n = 0; n < met.size(); ++n) {
    if (met[n] == 0) continue;
    x.data[n] /= met[n];
    if (!is_floating_point(dtype)) x.data[n] = std::floor(x.data[n]);
  }
  return x;
}

/// Small integers, which every dtype holds, and products of, too.
Array small(std::vector<int64_t> shape, uint64_t seed, DType dtype) {
  Array out = random_array(std::move(shape), 1, seed);
  for (double& v : out.data) v = std::floor((v + 1) * 1.5);
  return rounded(std::move(out), dtype);
}

Array places(std::vector<int64_t> shape, int64_t size, uint64_t seed) {
  Array out = random_array(std::move(shape), 1, seed);
  for (double& v : out.data) {
    v = std::min(std::floor((v + 1) / 2 * static_cast<double>(size)),
                 static_cast<double>(size - 1));
  }
  return out;
}

TEST_P(Scattering, ReducesEveryDtypeAlongEachDimension) {
  for (const DType dtype : kAllDtypes) {
    for (size_t d = 0; d < 3; ++d) {
      const Array x = small({3, 4, 5}, 10 + d, dtype);
      const Array source = small({2, 4, 3}, 20 + d, dtype);
      const Array index = places({2, 3, 3}, x.size(d), 30 + d);
      for (const char* op : {"sum", "prod", "mean", "amax", "amin"}) {
        if (dtype == kBool && std::string(op) == "mean") continue;
        for (const bool self : {true, false}) {
          SCOPED_TRACE(std::string(name(dtype)) + " " + op + " " + std::to_string(d));
          const Tensor got = scatter_reduce(make(x, dtype), static_cast<int64_t>(d),
                                            make(index, kI64), make(source, dtype), op, self);
          EXPECT_EQ(got.dtype(), dtype);
          EXPECT_TRUE(matches(got, model(op, x, index, source, d, dtype, self), 0, 1e-9));
        }
      }
      EXPECT_TRUE(matches(scatter_add(make(x, dtype), static_cast<int64_t>(d) - 3,
                                      make(index, kI32), make(source, dtype)),
                          model("sum", x, index, source, d, dtype), 0));
    }
  }
}

TEST_P(Scattering, AssignsWhereEachPlaceHasOneValue) {
  for (const DType dtype : kAllDtypes) {
    SCOPED_TRACE(name(dtype));
    const Array x = rounded(random_array({3, 4}, 60, 1), dtype);
    const Array source = rounded(random_array({3, 4}, 60, 2), dtype);
    const Array index({2, 4}, {0, 2, 1, 2, 2, 0, 0, 1});
    EXPECT_TRUE(matches(scatter(make(x, dtype), 0, make(index, kI64), make(source, dtype)),
                        model("assign", x, index, source, 0, dtype), 0));
    const Tensor filled = make(x, dtype);
    scatter_(filled, 0, make(index, kI64), 1);
    EXPECT_TRUE(matches(
        filled, model("assign", x, index, Array({2, 4}, std::vector<double>(8, 1)), 0, dtype), 0));
    const Tensor copied = make(x, dtype);
    index_copy_(copied, 1, at({3, 0}), make(source, dtype).narrow(1, 1, 2));
    EXPECT_TRUE(equal(copied.select(1, 3), make(source, dtype).select(1, 1)));
    EXPECT_TRUE(equal(copied.select(1, 0), make(source, dtype).select(1, 2)));
    EXPECT_TRUE(equal(copied.narrow(1, 1, 2), make(x, dtype).narrow(1, 1, 2)));
    index_fill_(copied, -1, at({-1, 1}), 1);
    EXPECT_EQ(array_of(copied.select(1, 3)).data, (std::vector<double>{1, 1, 1}));
    EXPECT_EQ(array_of(copied.select(1, 1)).data, (std::vector<double>{1, 1, 1}));
    EXPECT_TRUE(equal(copied.select(1, 2), make(x, dtype).select(1, 2)));
  }
}

TEST_P(Scattering, LongAndStrided) {
  const Array x = small({700, 33}, 5, kI32);
  const Array source = small({5000, 33}, 6, kI32);
  Array index = places({5000}, 700, 7);
  const Tensor got = make(x, kI32);
  index_add_(got, 0, make(index, kI64), make(source, kI32));
  Array wide({5000, 33});
  for (int64_t i = 0; i < 5000 * 33; ++i) wide.at(i) = index.at(i / 33);
  const Array want = model("sum", x, wide, source, 0, kI32);
  EXPECT_TRUE(matches(got, want, 0));
  // The same turned, where rows are not contiguous.
  const Tensor turned = make(x, kI32);
  index_add_(turned.t(), 1, make(index, kI64), make(source, kI32).t());
  EXPECT_TRUE(matches(turned, want, 0));
  const Tensor twice = make(x, kI32);
  index_add_(twice, 0, make(index, kI64), make(source, kI32), 2);
  EXPECT_TRUE(equal(twice - make(x, kI32), (got - make(x, kI32)) * 2));
}

TEST_P(Scattering, NotNumbersAndWrapping) {
  const float nan = std::nanf("");
  const Tensor x = tensor<float>({1, nan, 3}, device());
  const Tensor source = tensor<float>({nan, 5, 2}, device());
  const Tensor most = scatter_reduce(x, 0, at({0, 1, 2}), source, "amax");
  EXPECT_TRUE(std::isnan(most.to_vector<float>()[0]));
  EXPECT_TRUE(std::isnan(most.to_vector<float>()[1]));
  EXPECT_EQ(most.to_vector<float>()[2], 3);
  const Tensor bytes = tensor<uint8_t>({250, 3}, device());
  scatter_add_(bytes, 0, at({0, 0}), tensor<uint8_t>({5, 2}, device()));
  EXPECT_EQ(bytes.to_vector<uint8_t>(), (std::vector<uint8_t>{1, 3}));
  const Tensor wide = tensor<int64_t>({INT64_MAX}, device());
  scatter_add_(wide, 0, at({0}), tensor<int64_t>({1}, device()));
  EXPECT_EQ(wide.item<int64_t>(), INT64_MIN);
}

TEST_P(Scattering, EmptyZeroDimAndShared) {
  const Tensor x = ones({2, 3}, TensorOptions(device()));
  scatter_add_(x, 0, empty({0, 3}, TensorOptions(kI64, device())), x);
  index_add_(x, 1, empty({0}, TensorOptions(kI64, device())),
             empty({2, 0}, TensorOptions(device())));
  EXPECT_EQ(sum(x).item<float>(), 6);
  const Tensor one = full({}, 2, TensorOptions(kF32, device()));
  scatter_add_(one, 0, full({}, 0, TensorOptions(kI64, device())), one);
  EXPECT_EQ(one.item<float>(), 4);
  index_fill_(one, 0, full({}, -1, TensorOptions(kI64, device())), 7);
  EXPECT_EQ(one.item<float>(), 7);
  // The source is read as it was before.
  const Tensor y = arange(0, 4, 1, TensorOptions(device())).to(kF32);
  index_copy_(y, 0, at({1, 2, 3}), y.narrow(0, 0, 3));
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, 0, 1, 2}));
  const Tensor gone = empty({0, 3}, TensorOptions(device()));
  EXPECT_NE(error_of([&] {
              index_add_(gone, 0, at({0}), ones({1, 3}, TensorOptions(device())));
            }).find("empty"),
            std::string::npos);
}

TEST_P(Scattering, OutsideIsAnErrorAndNothingIsWritten) {
  const Tensor x = ones({3, 2}, TensorOptions(device()));
  for (const int64_t bad : {int64_t{3}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    const std::string texts[] = {
        error_of([&] {
          scatter_(x, 0, at({1, bad}).view({1, 2}), 5);
          synchronize(device());
        }),
        error_of([&] {
          index_add_(x, 0, at({0, bad}), ones({2, 2}, TensorOptions(device())));
          synchronize(device());
        })};
    for (const std::string& text : texts) {
      EXPECT_NE(text.find(std::to_string(bad)), std::string::npos) << text;
      EXPECT_NE(text.find("0..2"), std::string::npos) << text;
    }
    synchronize(device());
  }
  EXPECT_EQ(sum(x).item<float>(), 6);
}

TEST_P(Scattering, RefusesWhatDoesNotFit) {
  const Tensor x = ones({3, 2}, TensorOptions(device()));
  const Tensor i = zeros({2, 2}, TensorOptions(kI64, device()));
  const auto expect = [](const std::string& text, const char* what) {
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  expect(error_of([&] { scatter_add_(x, 0, i, x.to(kF64)); }), "float64");
  expect(error_of([&] { scatter_add_(x, 0, x, x); }), "must be int64");
  expect(error_of([&] { scatter_add_(x, 0, i, x.narrow(0, 0, 1)); }), "[1, 2]");
  expect(error_of([&] { scatter_add_(x, 2, i, x); }), "dimension 2");
  expect(error_of([&] {
           scatter_add_(x.select(1, 0).unsqueeze(1).expand({3, 2}), 0, i, x);
         }),
         "share memory");
  expect(error_of([&] { scatter_reduce_(x, 0, i, x, "median"); }), "'median'");
  expect(error_of([&] { scatter_reduce_(gt(x, 0), 0, i, gt(x, 0), "mean"); }), "bool");
  expect(error_of([&] { index_copy_(x, 0, i, x); }), "1-D");
  expect(error_of([&] { index_copy_(x, 0, at({0}), x); }), "[1, 2]");
  expect(error_of([&] { index_add_(x.to(kI32), 0, at({0, 1, 2}), x.to(kI32), 0.5); }), "alpha");
  EXPECT_EQ(sum(x).item<float>(), 6);
}

}  // namespace
}  // namespace ferry::test
