// SPDX-License-Identifier: Apache-2.0
//
// pool/1 as direct loops over windows: images are shared out among the threads.
#include "pool.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "ferry/sdk/convert.h"
#include "isa.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

constexpr int64_t kGrain = 16384;  // window elements for a thread

/// Always three spatial dimensions; missing ones have size 1.
struct Geometry {
  std::array<int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1},
      padding{0, 0, 0}, dilation{1, 1, 1};
  bool maximum = true, count_padding = true;
};

Geometry geometry_of(const ferry_call& call) {
  const auto& attr = *static_cast<const ferry_pool_attr*>(call.attr);
  Geometry g;
  for (uint32_t d = 0; d < attr.spatial; ++d) {
    const size_t at = 3 - attr.spatial + d;
    g.in[at] = call.in[0].shape[d + 2];
    g.out[at] = call.out[0].shape[d + 2];
    g.kernel[at] = attr.kernel[d];
    g.stride[at] = attr.stride[d];
    g.padding[at] = attr.padding[d];
    g.dilation[at] = attr.dilation[d];
  }
  g.maximum = attr.op == FERRY_POOL_MAX;
  g.count_padding = attr.count_include_pad != 0;
  return g;
}

/// Kernel elements first..last-1 of a window lie inside the input; `padded` of
/// them inside the padded input, as PyTorch counts.
struct Window {
  int64_t begin, first, last, padded;
};
Window window_of(const Geometry& g, size_t d, int64_t o) {
  Window w{};
  w.begin = o * g.stride[d] - g.padding[d];
  const int64_t step = g.dilation[d];
  w.first = w.begin >= 0 ? 0 : (-w.begin + step - 1) / step;
  w.last = std::min(g.kernel[d], w.begin >= g.in[d] ? 0 : (g.in[d] - w.begin + step - 1) / step);
  w.first = std::min(w.first, w.last);
  w.padded = std::min(w.begin + g.kernel[d], g.in[d] + g.padding[d]) - w.begin;
  return w;
}

template <class Item>
void pool_image(const Geometry& g, const Item* in, Item* out) {
  using C = std::conditional_t<std::is_same_v<Item, double>, double, float>;
  for (int64_t z = 0; z < g.out[0]; ++z) {
    const Window wz = window_of(g, 0, z);
    for (int64_t y = 0; y < g.out[1]; ++y) {
      const Window wy = window_of(g, 1, y);
      for (int64_t x = 0; x < g.out[2]; ++x) {
        const Window wx = window_of(g, 2, x);
        C largest = -std::numeric_limits<C>::infinity();
        double total = 0;
        for (int64_t kz = wz.first; kz < wz.last; ++kz) {
          const int64_t plane = (wz.begin + kz * g.dilation[0]) * g.in[1];
          for (int64_t ky = wy.first; ky < wy.last; ++ky) {
            const Item* const row = in + (plane + wy.begin + ky * g.dilation[1]) * g.in[2];
            for (int64_t kx = wx.first; kx < wx.last; ++kx) {
              const C v = sdk::load_as<C>(row[wx.begin + kx * g.dilation[2]]);
              total += static_cast<double>(v);
              largest = largest != largest || largest > v ? largest : v;
            }
          }
        }
        const int64_t inside = (wz.last - wz.first) * (wy.last - wy.first) * (wx.last - wx.first);
        const int64_t count = g.count_padding ? wz.padded * wy.padded * wx.padded : inside;
        *out++ = sdk::store_as<Item>(
            g.maximum ? largest : static_cast<C>(total / static_cast<double>(count)));
      }
    }
  }
}

template <class Item>
void pool(const ferry_call& call) {
  const Geometry g = geometry_of(call);
  const ferry_tensor& x = call.in[0];
  const ferry_tensor& y = call.out[0];
  const auto* const in = reinterpret_cast<const Item*>(x.at.memory.handle + x.at.offset);
  auto* const out = reinterpret_cast<Item*>(y.at.memory.handle + y.at.offset);
  const int64_t in_size = g.in[0] * g.in[1] * g.in[2];
  const int64_t out_size = g.out[0] * g.out[1] * g.out[2];
  const int64_t work = out_size * g.kernel[0] * g.kernel[1] * g.kernel[2];
  parallel_for(x.shape[0] * x.shape[1], std::max<int64_t>(1, kGrain / work),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   pool_image(g, in + i * in_size, out + i * out_size);
                 }
               });
}

class PoolKernel final : public hal::Kernel {
 public:
  PoolKernel()
      : Kernel({FERRY_FAMILY_POOL,
                FERRY_DTYPE_BIT(FERRY_F16) | FERRY_DTYPE_BIT(FERRY_BF16) |
                    FERRY_DTYPE_BIT(FERRY_F32) | FERRY_DTYPE_BIT(FERRY_F64),
                FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = static_cast<const ferry_pool_attr*>(call.attr);
    const bool known = attr != nullptr && attr->spatial >= 1 && attr->spatial <= 3 &&
                       attr->op <= FERRY_POOL_AVERAGE;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    switch (call.in[0].dtype) {
      case FERRY_F16:
        pool<sdk::F16>(call);
        break;
      case FERRY_BF16:
        pool<sdk::BF16>(call);
        break;
      case FERRY_F32:
        pool<float>(call);
        break;
      default:
        pool<double>(call);
        break;
    }
    return {};
  }
};

}  // namespace

const hal::Kernel& pool_kernel() {
  static const auto* const kernel = new PoolKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
