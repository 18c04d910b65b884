// SPDX-License-Identifier: Apache-2.0
//
// conv/1: oneDNN for f32, and f32 for the halves; what oneDNN cannot do, as
// matrix products.
#include "conv.h"

#include <algorithm>
#include <exception>
#include <new>

#include "conv_shape.h"
#include "matmul_product.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

const ferry_conv_attr& attributes(const ferry_call& call) {
  return *static_cast<const ferry_conv_attr*>(call.attr);
}

/// Missing dimensions go in front, as sizes of 1, so that the last one is
/// always along dense memory.
ConvShape shape_of(const ferry_call& call) {
  const ferry_conv_attr& attr = attributes(call);
  const ferry_tensor &x = call.in[0], &weight = call.in[1], &out = call.out[0];
  ConvShape s{};
  s.batch = x.shape[0];
  s.channels = x.shape[1];
  s.outputs = out.shape[1];
  s.groups = attr.groups;
  s.spatial = attr.spatial;
  s.in = s.kernel = s.out = s.stride = s.dilation = {1, 1, 1};
  for (uint32_t k = 0; k < attr.spatial; ++k) {
    const size_t d = 3 - attr.spatial + k;
    s.in[d] = x.shape[2 + k];
    s.kernel[d] = weight.shape[2 + k];
    s.out[d] = out.shape[2 + k];
    s.stride[d] = attr.stride[k];
    s.padding[d] = attr.padding[k];
    s.dilation[d] = attr.dilation[k];
  }
  s.has_bias = call.n_in == 3;
  return s;
}

void* address(const ferry_tensor& tensor) {
  return reinterpret_cast<void*>(tensor.at.memory.handle + tensor.at.offset);
}

/// n elements of a half type as f32, or back, on several threads.
void widen(ferry_dtype dtype, float* to, const void* from, int64_t n) {
  parallel_for(n, int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    const void* const part = static_cast<const char*>(from) + begin * item_size(dtype);
    matmul_loops().load[dtype](to + begin, part, 1, end - begin);
  });
}
void narrow(ferry_dtype dtype, void* to, const float* from, int64_t n) {
  parallel_for(n, int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    void* const part = static_cast<char*>(to) + begin * item_size(dtype);
    matmul_loops().store[dtype](part, 1, from + begin, end - begin);
  });
}

void conv_float(const ConvShape& shape, const ConvData& data) {
  if (!conv_onednn(shape, data)) conv_patches(FERRY_F32, shape, data);
}

void conv_half(ferry_dtype dtype, const ConvShape& s, const ConvData& data) {
  const int64_t x_count = s.batch * s.channels * s.in_area();
  const int64_t weight_count = s.outputs * s.group_channels() * s.kernel_area();
  const int64_t out_count = s.batch * s.outputs * s.out_area();
  const Workspace wide((x_count + weight_count + out_count + s.outputs) * 4);
  float* const x = wide.as<float>();
  float* const weight = x + x_count;
  float* const out = weight + weight_count;
  float* const bias = out + out_count;
  widen(dtype, x, data.x, x_count);
  widen(dtype, weight, data.weight, weight_count);
  if (data.bias != nullptr) widen(dtype, bias, data.bias, s.outputs);
  conv_float(s, {x, weight, data.bias == nullptr ? nullptr : bias, out});
  narrow(dtype, data.out, out, out_count);
}

class ConvKernel final : public hal::Kernel {
 public:
  ConvKernel()
      : Kernel({FERRY_FAMILY_CONV,
                FERRY_DTYPE_BIT(FERRY_F16) | FERRY_DTYPE_BIT(FERRY_BF16) |
                    FERRY_DTYPE_BIT(FERRY_F32) | FERRY_DTYPE_BIT(FERRY_F64),
                FERRY_KERNEL_DETERMINISTIC}) {}

  hal::Status check(const ferry_call& call) const override {
    const hal::Status declined(FERRY_DECLINED);
    if (call.n_in < 2 || call.n_in > 3 || call.n_out != 1 || call.map != nullptr) return declined;
    if (call.attr == nullptr) return declined;
    const uint32_t spatial = attributes(call).spatial;
    if (spatial < 1 || spatial > 3) return declined;
    const ferry_dtype dtype = call.in[0].dtype;
    bool same = call.out[0].dtype == dtype && call.out[0].ndim == spatial + 2;
    for (uint32_t i = 0; i < call.n_in; ++i) {
      same = same && call.in[i].dtype == dtype && call.in[i].ndim == (i == 2 ? 1 : spatial + 2);
    }
    return same ? hal::Status() : declined;
  }

  hal::Status launch(const ferry_call& call) const override {
    try {
      const ConvShape shape = shape_of(call);
      const ConvData data{address(call.in[0]), address(call.in[1]),
                          call.n_in == 3 ? address(call.in[2]) : nullptr, address(call.out[0])};
      const ferry_dtype dtype = call.in[0].dtype;
      if (dtype == FERRY_F64)
        conv_patches(dtype, shape, data);
      else if (dtype == FERRY_F32)
        conv_float(shape, data);
      else
        conv_half(dtype, shape, data);
      return hal::Status();
    } catch (const std::bad_alloc&) {
      return hal::fail(FERRY_E_OOM, "conv", "no host memory left for the working copies");
    } catch (const std::exception& e) {
      return hal::fail(FERRY_E_OTHER, "conv", e.what());
    }
  }
};

}  // namespace

const hal::Kernel& conv_kernel() {
  static const auto* const kernel = new ConvKernel();
  return *kernel;
}

}  // namespace ferry::cpu
