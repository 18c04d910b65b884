// SPDX-License-Identifier: Apache-2.0
//
// The functions of shape_ops.h: what is a view, every dtype, and the edges.
#include "ferry/shape_ops.h"

#include "common.h"

namespace ferry::test {
namespace {

using reference::Array;

class ShapeOps : public OnDevice {
 protected:
  /// 0, 1, 2, ... in a shape.
  Tensor counted(Sizes shape, DType dtype = kF32) const {
    int64_t n = 1;
    for (const int64_t s : ShapeRef(shape)) n *= s;
    return arange(0, n, 1, TensorOptions(device())).to(dtype).view(shape);
  }
};
FERRY_ON_EVERY_DEVICE(ShapeOps);

/// The element of `x` that each element of a result comes from, by its position.
template <class F>
Array mapped(const Array& x, std::vector<int64_t> shape, F&& source) {
  Array out(std::move(shape));
  for (int64_t i = 0; i < static_cast<int64_t>(out.data.size()); ++i) {
    out.at(i) = x.at(reference::number_of(x.shape, source(reference::position(out.shape, i))));
  }
  return out;
}

TEST_P(ShapeOps, ViewsShareStorage) {
  const Tensor x = counted({2, 3, 4});
  std::vector<Tensor> views = {movedim(x, 0, -1),  movedim(x, {0, 1}, {1, 2}),
                               swapaxes(x, 0, 2),  broadcast_to(x, {5, 2, 3, 4}),
                               unfold(x, 2, 2, 2), diagonal(x, 1, 1, 2)};
  for (const auto& parts : {split(x, 2, 2), split(x, {1, 2}, 1), chunk(x, 3, 2),
                            tensor_split(x, 2, 1), tensor_split(x, {1, 2}, 2), unbind(x, 1)}) {
    views.insert(views.end(), parts.begin(), parts.end());
  }
  for (const Tensor& v : views) EXPECT_TRUE(v.shares_storage(x)) << to_string(v.shape());
  for (const Tensor& v : meshgrid({x.select(0, 0).select(0, 0), counted({3})})) {
    EXPECT_EQ(v.shape(), (Shape{4, 3}));
  }
  diagonal(x, 0, 1, 2).fill_(-1);
  EXPECT_EQ(x.select(0, 1).to_vector<float>(),
            (std::vector<float>{-1, 13, 14, 15, 16, -1, 18, 19, 20, 21, -1, 23}));
}

TEST_P(ShapeOps, CopiesDoNotShareStorage) {
  const Tensor x = counted({2, 3});
  for (const Tensor& c :
       {narrow_copy(x, 1, 0, 2), flip(x, {}), flip(x, {0}), roll(x, {0}, {0}), roll(x, {3}, {1}),
        repeat(x, {1, 1}), tile(x, {1}), repeat_interleave(x, 1, 0), pad(x, {0, 0}),
        pad(x, {}, PadMode::kReflect), diag(x), tril(x, 9)}) {
    EXPECT_FALSE(c.shares_storage(x)) << to_string(c.shape());
    EXPECT_TRUE(c.is_contiguous());
  }
  EXPECT_TRUE(equal(x, counted({2, 3})));
}

TEST_P(ShapeOps, RearrangesEveryDtype) {
  const Array values = random_array({3, 4, 5}, 60, 1);
  for (const DType dtype : kAllDtypes) {
    SCOPED_TRACE(name(dtype));
    const Array x = rounded(values, dtype);
    const Tensor t = make(x, dtype);
    EXPECT_TRUE(matches(flip(t, {0, -1}),
                        mapped(x, x.shape,
                               [](auto p) {
                                 return std::vector<int64_t>{2 - p[0], p[1], 4 - p[2]};
                               }),
                        0));
    EXPECT_TRUE(matches(roll(t, {2, -1}, {1, 2}),
                        mapped(x, x.shape,
                               [](auto p) {
                                 return std::vector<int64_t>{p[0], (p[1] + 2) % 4, (p[2] + 1) % 5};
                               }),
                        0));
    EXPECT_TRUE(matches(repeat(t, {2, 1, 2, 3}),
                        mapped(x, {2, 3, 8, 15},
                               [](auto p) {
                                 return std::vector<int64_t>{p[1], p[2] % 4, p[3] % 5};
                               }),
                        0));
    EXPECT_TRUE(matches(repeat_interleave(t, 3, 1),
                        mapped(x, {3, 12, 5},
                               [](auto p) {
                                 return std::vector<int64_t>{p[0], p[1] / 3, p[2]};
                               }),
                        0));
    EXPECT_TRUE(matches(stack({t, t}, 1),
                        mapped(x, {3, 2, 4, 5},
                               [](auto p) {
                                 return std::vector<int64_t>{p[0], p[2], p[3]};
                               }),
                        0));
    EXPECT_TRUE(
        matches(pad(t, {2, 1, 3, 3}, PadMode::kReflect),
                mapped(x, {3, 10, 8},
                       [](auto p) {
                         const int64_t c = p[2] < 2 ? 2 - p[2] : p[2] < 7 ? p[2] - 2 : 3;
                         const int64_t r = p[1] < 3 ? 3 - p[1] : p[1] < 7 ? p[1] - 3 : 9 - p[1];
                         return std::vector<int64_t>{p[0], r, c};
                       }),
                0));
    const Array padded = array_of(pad(t, {1, -1}, PadMode::kConstant, 1));
    const Tensor low = tril(t, -1), high = triu(t);
    EXPECT_EQ(low.dtype(), dtype);
    for (int64_t i = 0; i < 60; ++i) {
      const auto p = reference::position(x.shape, i);
      EXPECT_EQ(padded.at(i), p[2] == 0 ? 1 : x.at(i - 1));
      EXPECT_EQ(array_of(low).at(i), p[2] < p[1] ? x.at(i) : 0);
      EXPECT_EQ(array_of(high).at(i), p[2] >= p[1] ? x.at(i) : 0);
    }
    EXPECT_TRUE(
        equal(diagonal(diag(t.select(0, 0).select(0, 1), -2), -2), t.select(0, 0).select(0, 1)));
    EXPECT_EQ(eye(2, 3, TensorOptions(dtype, device())).dtype(), dtype);
    EXPECT_EQ(array_of(eye(2, 3, TensorOptions(dtype, device()))).data,
              (std::vector<double>{1, 0, 0, 0, 1, 0}));
  }
}

TEST_P(ShapeOps, StridedOperands) {
  const Tensor x = counted({4, 6});
  const Tensor t = x.slice(1, 0, 6, 2).t();
  const Tensor dense = t.contiguous();
  EXPECT_TRUE(equal(flip(t, {1}), flip(dense, {1})));
  EXPECT_TRUE(equal(roll(t, {5}), roll(dense, {5})));
  EXPECT_TRUE(equal(repeat(t, {2, 2}), repeat(dense, {2, 2})));
  EXPECT_TRUE(equal(pad(t, {1, 1}, PadMode::kReplicate), pad(dense, {1, 1}, PadMode::kReplicate)));
  EXPECT_TRUE(equal(unfold(t, 1, 2, 1), unfold(dense, 1, 2, 1)));
  EXPECT_TRUE(equal(diagonal(t, -1), diagonal(dense, -1)));
  EXPECT_TRUE(equal(triu(t), triu(dense)));
}

TEST_P(ShapeOps, AsManyDimensionsAsThereAre) {
  const Tensor x = counted({1, 2, 1, 2, 1, 2, 1, 2});
  const Tensor twice = repeat(x, {2, 1, 1, 2, 1, 1, 1, 2});
  EXPECT_EQ(twice.shape(), (Shape{2, 2, 1, 4, 1, 2, 1, 4}));
  EXPECT_TRUE(equal(twice.select(0, 1).slice(2, 2, 4).narrow(6, 2, 2), x.select(0, 0)));
  EXPECT_EQ(repeat_interleave(x, 2, 7).shape(), (Shape{1, 2, 1, 2, 1, 2, 1, 4}));
  EXPECT_TRUE(equal(flip(flip(x, {1, 3, 5, 7}), {1, 3, 5, 7}), x));
  EXPECT_EQ(diagonal(x, 0, 1, 3).shape(), (Shape{1, 1, 1, 2, 1, 2, 2}));
  EXPECT_NE(error_of([&] { (void)stack({x}); }).find("[unsqueeze]"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)unfold(x, 7, 2, 1); }).find("8"), std::string::npos);
}

TEST_P(ShapeOps, EmptyAndZeroDim) {
  const Tensor none = empty({0, 3}, TensorOptions(device()));
  EXPECT_EQ(flip(none, {0, 1}).shape(), (Shape{0, 3}));
  EXPECT_EQ(roll(none, {1}, {0}).shape(), (Shape{0, 3}));
  EXPECT_EQ(roll(none, {4}).shape(), (Shape{0, 3}));
  EXPECT_EQ(repeat(none, {2, 2}).shape(), (Shape{0, 6}));
  EXPECT_EQ(repeat(counted({2}), {0, 3}).shape(), (Shape{0, 6}));
  EXPECT_EQ(repeat_interleave(none, 2).shape(), (Shape{0}));
  EXPECT_EQ(array_of(pad(none, {0, 0, 1, 1}, PadMode::kConstant, 5)).data,
            std::vector<double>(6, 5));
  EXPECT_EQ(pad(none, {1, 1}, PadMode::kReflect).shape(), (Shape{0, 5}));
  EXPECT_EQ(tril(none).shape(), (Shape{0, 3}));
  EXPECT_EQ(diag(none.select(1, 0)).shape(), (Shape{0, 0}));
  EXPECT_EQ(diag(none.select(1, 0), -2).shape(), (Shape{2, 2}));
  EXPECT_EQ(diagonal(none).shape(), (Shape{0}));
  EXPECT_EQ(unfold(none, 1, 2, 1).shape(), (Shape{0, 2, 2}));
  EXPECT_EQ(stack({none, none}, 2).shape(), (Shape{0, 3, 2}));
  EXPECT_EQ(outer(none.select(1, 0), counted({2})).shape(), (Shape{0, 2}));
  EXPECT_EQ(one_hot(none.to(kI64), 4).shape(), (Shape{0, 3, 4}));
  EXPECT_EQ(split(none, 1, 0).size(), 1u);
  const Tensor one = full({}, 7, TensorOptions(kI32, device()));
  EXPECT_EQ(flip(one, {}).item<int>(), 7);
  EXPECT_EQ(flip(one, {0}).item<int>(), 7);
  EXPECT_EQ(roll(one, {1}, {0}).item<int>(), 7);
  EXPECT_EQ(repeat(one, {}).shape(), Shape{});
  EXPECT_EQ(repeat(one, {3}).to_vector<int32_t>(), (std::vector<int32_t>{7, 7, 7}));
  EXPECT_EQ(tile(one, {2, 1}).shape(), (Shape{2, 1}));
  EXPECT_EQ(repeat_interleave(one, 2).shape(), (Shape{2}));
  EXPECT_EQ(stack({one, one}).shape(), (Shape{2}));
  EXPECT_EQ(vstack({one, one}).shape(), (Shape{2, 1}));
  EXPECT_EQ(movedim(one, 0, 0).shape(), Shape{});
  EXPECT_EQ(unfold(one, 0, 1, 1).shape(), (Shape{1}));
  EXPECT_EQ(pad(one, {}).item<int>(), 7);
}

TEST_P(ShapeOps, SequencesOfOtherDtypes) {
  const TensorOptions integers(kI32, device());
  EXPECT_EQ(linspace(0, 10, 5, integers).to_vector<int32_t>(),
            (std::vector<int32_t>{0, 2, 5, 7, 10}));
  const std::vector<double> fine =
      linspace(0, 1, 4, TensorOptions(kF64, device())).to_vector<double>();
  EXPECT_EQ(fine.front(), 0);
  EXPECT_DOUBLE_EQ(fine[1], 1.0 / 3);
  EXPECT_EQ(fine.back(), 1);
  EXPECT_EQ(array_of(linspace(-1, 1, 3, TensorOptions(kBF16, device()))).data,
            (std::vector<double>{-1, 0, 1}));
  // The largest classes decide; int32 is an index, too.
  EXPECT_EQ(one_hot(tensor<int32_t>({1, 0}, device())).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 1, 1, 0}));
}

TEST_P(ShapeOps, ErrorsNameTheNumbers) {
  const Tensor x = counted({2, 3});
  const auto expect = [](const std::string& text, const char* where, const char* what) {
    EXPECT_EQ(text.find(where), 0u) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  expect(error_of([&] { (void)split(x, {1, 1}, 1); }), "[split]", "the 3 of dimension 1");
  expect(error_of([&] { (void)unfold(x, 1, 4, 1); }), "[unfold]", "size 4");
  expect(error_of([&] { (void)movedim(x, {0}, {0, 1}); }), "[movedim]", "[0, 1]");
  expect(error_of([&] { (void)diagonal(x, 0, 1, -1); }), "[diagonal]", "[2, 3]");
  expect(error_of([&] { (void)pad(x, {3, 0}, PadMode::kReflect); }), "[pad]", "[3, 0]");
  expect(error_of([&] { (void)pad(x, {INT64_MAX, 1}); }), "[pad]", "does not fit");
  expect(error_of([&] { (void)repeat(x, {INT64_MAX, 2}); }), "[repeat]", "64 bits");
  expect(error_of([&] { (void)roll(x, {1, 2}, {0}); }), "[roll]", "[1, 2]");
  expect(error_of([&] { (void)stack({}); }), "[stack]", "no tensors");
  expect(error_of([&] { (void)one_hot(tensor<int64_t>({4}, device()), 3); }), "[one_hot]", "0..2");
  expect(error_of([&] { (void)one_hot(x); }), "[one_hot]", "float32");
  expect(error_of([&] { (void)tril(x.select(0, 0)); }), "[tril]", "[3]");
  expect(error_of([&] { (void)outer(x, x); }), "[outer]", "[2, 3]");
  expect(error_of([&] { (void)diag(x.unsqueeze(0)); }), "[diag]", "[1, 2, 3]");
  expect(error_of([&] { (void)split(Tensor(), 1); }), "[split]", "undefined");
  expect(error_of([&] { (void)chunk(full({}, 1, device()), 2); }), "[chunk]", "0-dim");
}

}  // namespace
}  // namespace ferry::test
