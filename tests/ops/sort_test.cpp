// SPDX-License-Identifier: Apache-2.0
//
// Sorting, running sums and counts against host models, every dtype.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common.h"
#include "ferry/indexing.h"
#include "ferry/sort_ops.h"

namespace ferry::test {
namespace {

using reference::Array;

class Sorting : public OnDevice {};
FERRY_ON_EVERY_DEVICE(Sorting);

/// Calls f(line) with the numbers of each line of elements along `d`.
template <class F>
void for_each_line(const Array& x, size_t d, F&& f) {
  for (int64_t i = 0; i < static_cast<int64_t>(x.data.size()); ++i) {
    auto p = reference::position(x.shape, i);
    if (p[d] != 0) continue;
    std::vector<int64_t> line;
    for (; p[d] < x.size(d); ++p[d]) line.push_back(reference::number_of(x.shape, p));
    f(line);
  }
}

struct Sorted {
  Array values, places;
};
Sorted sorted(const Array& x, size_t d, bool descending) {
  Sorted out{x, x};
  for_each_line(x, d, [&](const std::vector<int64_t>& line) {
    std::vector<int64_t> order(line.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const double u = x.at(line[static_cast<size_t>(descending ? b : a)]);
      const double v = x.at(line[static_cast<size_t>(descending ? a : b)]);
      return u < v || (std::isnan(v) && !std::isnan(u));
    });
    for (size_t i = 0; i < line.size(); ++i) {
      out.values.at(line[i]) = x.at(line[static_cast<size_t>(order[i])]);
      out.places.at(line[i]) = static_cast<double>(order[i]);
    }
  });
  return out;
}

/// Few values, so that some are equal.
Array few(std::vector<int64_t> shape, uint64_t seed, DType dtype) {
  Array out = random_array(std::move(shape), 4, seed);
  for (double& v : out.data) v = std::floor(v);
  return rounded(std::move(out), dtype);
}

TEST_P(Sorting, EveryDtypeAlongEachDimension) {
  for (const DType dtype : kAllDtypes) {
    for (size_t d = 0; d < 3; ++d) {
      Array x = few({4, 7, 5}, 40 + d, dtype);
      if (is_floating_point(dtype)) {
        x.at(9) = x.at(50) = std::numeric_limits<double>::quiet_NaN();
        x.at(11) = -std::numeric_limits<double>::infinity();
      }
      const auto dim = static_cast<int64_t>(d);
      for (const bool descending : {false, true}) {
        SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(d));
        const Sorted want = sorted(x, d, descending);
        const auto [values, places] = sort(make(x, dtype), dim, descending);
        EXPECT_EQ(values.dtype(), dtype);
        EXPECT_TRUE(matches(values, want.values, 0));
        EXPECT_TRUE(matches(places, want.places, 0));
        EXPECT_TRUE(equal(argsort(make(x, dtype), dim - 3, descending), places));
        const auto [first, where_first] = topk(make(x, dtype), 3, dim, descending);
        EXPECT_TRUE(matches(first, array_of(values.narrow(dim, 0, 3)), 0));
        EXPECT_TRUE(equal(where_first, places.narrow(dim, 0, 3)));
      }
    }
  }
}

TEST_P(Sorting, LongAndStrided) {
  const Array x = rounded(random_array({3, 5000}, 1e6, 8), kF32);
  const Sorted want = sorted(x, 1, false);
  const auto [values, places] = sort(make(x, kF32), 1);
  EXPECT_TRUE(matches(values, want.values, 0));
  EXPECT_TRUE(matches(places, want.places, 0));
  const auto turned = sort(make(x, kF32).t(), 0);
  EXPECT_TRUE(equal(turned.values.t(), values));
  EXPECT_TRUE(equal(turned.indices.t(), places));
  EXPECT_TRUE(equal(topk(make(x, kF32), 1, 1).values, amax(make(x, kF32), {1}, true)));
}

TEST_P(Sorting, EdgesOfIntegers) {
  const Tensor x =
      tensor<int64_t>({INT64_MAX, INT64_MIN, 9007199254740993, 9007199254740992, 0}, device());
  EXPECT_EQ(sort(x).values.to_vector<int64_t>(),
            (std::vector<int64_t>{INT64_MIN, 0, 9007199254740992, 9007199254740993, INT64_MAX}));
  EXPECT_EQ(argsort(x, 0, true).to_vector<int64_t>(), (std::vector<int64_t>{0, 2, 3, 4, 1}));
  EXPECT_EQ(cumsum(x, 0).to_vector<int64_t>()[1], -1);
}

TEST_P(Sorting, RunningSumsEveryDtype) {
  for (const DType dtype : kAllDtypes) {
    for (size_t d = 0; d < 3; ++d) {
      SCOPED_TRACE(std::string(name(dtype)) + " " + std::to_string(d));
      Array x = few({3, 4, 5}, 60 + d, dtype);
      if (dtype == kU8) {
        for (double& v : x.data) v = std::fmod(v, 4);
      }
      Array sums = x, products = x;
      for_each_line(x, d, [&](const std::vector<int64_t>& line) {
        for (size_t i = 1; i < line.size(); ++i) {
          sums.at(line[i]) += sums.at(line[i - 1]);
          products.at(line[i]) *= products.at(line[i - 1]);
        }
      });
      const auto dim = static_cast<int64_t>(d);
      const DType result = is_floating_point(dtype) ? dtype : kI64;
      EXPECT_EQ(cumsum(make(x, dtype), dim).dtype(), result);
      EXPECT_TRUE(matches(cumsum(make(x, dtype), dim - 3), sums, 0));
      EXPECT_TRUE(matches(cumprod(make(x, dtype), dim), products, unit_of(result) * 4));
      EXPECT_TRUE(
          matches(cumsum(make(x, dtype).transpose(0, 2), 2 - dim).transpose(0, 2), sums, 0));
    }
  }
  // A sum in half would stop at 2048.
  const Tensor halves = cumsum(ones({5000}, TensorOptions(kF16, device())), 0);
  EXPECT_EQ(halves.slice(0, 4095, 4096).to(kF32).item<float>(), 4096);
}

TEST_P(Sorting, UniqueEveryDtype) {
  for (const DType dtype : kAllDtypes) {
    SCOPED_TRACE(name(dtype));
    const Array x = few({6, 9}, 70, dtype);
    std::vector<double> want = x.data;
    std::sort(want.begin(), want.end());
    want.erase(std::unique(want.begin(), want.end()), want.end());
    const Unique got = unique(make(x, dtype));
    EXPECT_EQ(got.values.dtype(), dtype);
    EXPECT_EQ(array_of(got.values).data, want);
    EXPECT_TRUE(equal(got.values.index({got.inverse}), make(x, dtype)));
    const std::vector<int64_t> counts = got.counts.to_vector<int64_t>();
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(counts[i], std::count(x.data.begin(), x.data.end(), want[i]));
    }
  }
  const float nan = std::nanf("");
  const Unique odd = unique(tensor<float>({nan, 1, nan}, device()));
  EXPECT_EQ(odd.counts.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 1}));
  EXPECT_EQ(unique(full({}, 3, device())).inverse.shape(), Shape{});
}

TEST_P(Sorting, SearchesEveryDtype) {
  for (const DType dtype : kAllDtypes) {
    SCOPED_TRACE(name(dtype));
    for (const int64_t n : {1, 2, 3, 7, 8, 9, 100}) {
      Array line = few({n}, 80, dtype);
      std::sort(line.data.begin(), line.data.end());
      const Array values = few({3, 4}, 81, dtype);
      for (const bool right : {false, true}) {
        Array want = values;
        for (double& v : want.data) {
          const auto found = right ? std::upper_bound(line.data.begin(), line.data.end(), v)
                                   : std::lower_bound(line.data.begin(), line.data.end(), v);
          v = static_cast<double>(found - line.data.begin());
        }
        const Tensor got = searchsorted(make(line, dtype), make(values, dtype), right);
        EXPECT_EQ(got.dtype(), kI64);
        EXPECT_TRUE(matches(got, want, 0)) << n;
      }
    }
  }
  const Tensor line = tensor<float>({1, 3, 5}, device());
  EXPECT_EQ(searchsorted(line, 3).item<int64_t>(), 1);
  EXPECT_EQ(searchsorted(line, 3, true, true).dtype(), kI32);
  EXPECT_EQ(searchsorted(line, std::nanf("")).item<int64_t>(), 3);
}

TEST_P(Sorting, CountsEveryInteger) {
  for (const DType dtype : {kU8, kI8, kI16, kI32, kI64}) {
    const Tensor x = tensor<int64_t>({3, 0, 3, 5}, device()).to(dtype);
    EXPECT_EQ(bincount(x).to_vector<int64_t>(), (std::vector<int64_t>{1, 0, 0, 2, 0, 1}));
    EXPECT_EQ(bincount(x, x, 8).to_vector<double>(), (std::vector<double>{0, 0, 0, 6, 0, 5, 0, 0}));
  }
}

TEST_P(Sorting, EmptyAndZeroDim) {
  const Tensor none = empty({0, 3}, TensorOptions(device()));
  EXPECT_EQ(sort(none, 0).values.shape(), (Shape{0, 3}));
  EXPECT_EQ(topk(none, 2, 1).indices.shape(), (Shape{0, 2}));
  EXPECT_EQ(cumsum(none.to(kI32), 1).dtype(), kI64);
  EXPECT_EQ(unique(none).inverse.shape(), (Shape{0, 3}));
  EXPECT_EQ(bincount(none.select(1, 0).to(kI32), {}, 3).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(
      searchsorted(none.select(1, 0), ones({2}, TensorOptions(device()))).to_vector<int64_t>(),
      (std::vector<int64_t>{0, 0}));
  const Tensor one = full({}, 5, TensorOptions(kF32, device()));
  EXPECT_EQ(sort(one).values.item<float>(), 5);
  EXPECT_EQ(topk(one, 1).indices.item<int64_t>(), 0);
  EXPECT_EQ(cumsum(one, 0).item<float>(), 5);
  EXPECT_FALSE(cumsum(one, 0).shares_storage(one));
}

TEST_P(Sorting, ErrorsNameTheNumbers) {
  const Tensor x = ones({2, 3}, TensorOptions(device()));
  const auto expect = [](const std::string& text, const char* where, const char* what) {
    EXPECT_EQ(text.find(where), 0u) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  expect(error_of([&] { (void)sort(x, 2); }), "[sort]", "dimension 2");
  expect(error_of([&] { (void)topk(x, 4); }), "[topk]", "0..3");
  expect(error_of([&] { (void)topk(x, -1); }), "[topk]", "0..3");
  expect(error_of([&] { (void)cumsum(x, -3); }), "[cumsum]", "dimension -3");
  expect(error_of([&] { (void)bincount(x); }), "[bincount]", "float32");
  expect(error_of([&] { (void)bincount(tensor<int64_t>({-2, 1}, device())); }), "[bincount]", "-2");
  expect(error_of([&] { (void)searchsorted(x, x.to(kF64)); }), "[searchsorted]", "float64");
  expect(error_of([&] {
           (void)searchsorted(x, ones({3, 3}, TensorOptions(device())));
         }),
         "[searchsorted]", "[3, 3]");
  expect(error_of([&] { (void)searchsorted(x, 1); }), "[searchsorted]", "[2, 3]");
}

}  // namespace
}  // namespace ferry::test
