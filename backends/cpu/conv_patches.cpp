// SPDX-License-Identifier: Apache-2.0
//
// Convolution as matrix products: patches of the input become the columns of a
// matrix, a piece of it at a time.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "conv_shape.h"
#include "matmul_product.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Elements of the patch matrix that are made at once.
constexpr int64_t kPatchElements = int64_t{1} << 18;

/// One image's part of one group.
template <class T>
struct Image {
  const ConvShape& shape;
  const T* x;  // [group_channels, in...]

  /// patches[K, count] of the outputs first..first+count-1, where K numbers the
  /// elements of the weights of one output channel.
  void make_patches(T* patches, int64_t first, int64_t count) const;

 private:
  void make_row(T* row, const T* channel, const ConvShape::Sizes& tap, int64_t first,
                int64_t count) const;
};

template <class T>
void Image<T>::make_patches(T* patches, int64_t first, int64_t count) const {
  const ConvShape& s = shape;
  for (int64_t c = 0; c < s.group_channels(); ++c) {
    const T* const channel = x + c * s.in_area();
    ConvShape::Sizes tap{};
    for (tap[0] = 0; tap[0] < s.kernel[0]; ++tap[0]) {
      for (tap[1] = 0; tap[1] < s.kernel[1]; ++tap[1]) {
        for (tap[2] = 0; tap[2] < s.kernel[2]; ++tap[2]) {
          make_row(patches, channel, tap, first, count);
          patches += count;
        }
      }
    }
  }
}

/// What one tap of the kernel meets at each output.
template <class T>
void Image<T>::make_row(T* row, const T* channel, const ConvShape::Sizes& tap, int64_t first,
                        int64_t count) const {
  const ConvShape& s = shape;
  const auto from = [&](size_t d, int64_t out) {
    return out * s.stride[d] - s.padding[d] + tap[d] * s.dilation[d];
  };
  const int64_t end = first + count;
  for (int64_t i = first; i < end;) {
    // The outputs from i to the end of their line along the last dimension.
    const int64_t line = i / s.out[2];
    const int64_t q = i % s.out[2], stop = std::min(s.out[2], q + end - i);
    const int64_t y = from(1, line % s.out[1]), z = from(0, line / s.out[1]);
    const bool inside = y >= 0 && y < s.in[1] && z >= 0 && z < s.in[0];
    const T* const source = channel + (inside ? (z * s.in[1] + y) * s.in[2] : 0);
    for (int64_t o = q; o < stop; ++o) {
      const int64_t v = from(2, o);
      *row++ = inside && v >= 0 && v < s.in[2] ? source[v] : T(0);
    }
    i += stop - q;
  }
}

/// True where the patches are the input itself.
bool is_pointwise(const ConvShape& s) {
  bool yes = s.kernel_area() == 1;
  for (size_t d = 0; d < 3; ++d) yes = yes && s.stride[d] == 1 && s.padding[d] == 0;
  return yes;
}

template <class T>
void run(ferry_dtype dtype, const ConvShape& s, const ConvData& data) {
  const int64_t area = s.out_area(), outputs = s.group_outputs();
  const int64_t depth = s.group_channels() * s.kernel_area();
  const int64_t width = std::clamp<int64_t>(kPatchElements / depth, 32, 1024);
  const int64_t pieces = divide_up(area, width);
  const int64_t grain =
      std::max<int64_t>(1, (int64_t{1} << 17) / (outputs * depth * std::min(width, area)));
  const bool pointwise = is_pointwise(s);
  parallel_for(s.batch * s.groups * pieces, grain, [&](int64_t begin, int64_t end) {
    const Workspace patches(pointwise ? 1 : depth * width * int64_t{sizeof(T)});
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * width, count = std::min(width, area - first);
      const int64_t group = i / pieces % s.groups, image = i / pieces / s.groups;
      const T* const x = static_cast<const T*>(data.x) +
                         (image * s.channels + group * s.group_channels()) * s.in_area();
      Matrix columns{x + first, area, 1};
      if (!pointwise) {
        Image<T>{s, x}.make_patches(patches.as<T>(), first, count);
        columns = {patches.data(), count, 1};
      }
      const Matrix weights{static_cast<const T*>(data.weight) + group * outputs * depth, depth, 1};
      T* const out =
          static_cast<T*>(data.out) + (image * s.outputs + group * outputs) * area + first;
      multiply(dtype, outputs, count, depth, weights, columns, out, area);
      if (data.bias == nullptr) continue;
      for (int64_t o = 0; o < outputs; ++o) {
        const T bias = static_cast<const T*>(data.bias)[group * outputs + o];
        for (int64_t q = 0; q < count; ++q) out[o * area + q] += bias;
      }
    }
  });
}

}  // namespace

void conv_patches(ferry_dtype dtype, const ConvShape& shape, const ConvData& data) {
  if (dtype == FERRY_F64)
    run<double>(dtype, shape, data);
  else
    run<float>(dtype, shape, data);
}

}  // namespace ferry::cpu
