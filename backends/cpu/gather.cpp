// SPDX-License-Identifier: Apache-2.0
//
// gather/1: the indices are checked first, so that nothing is written when one
// is wrong.
#include "gather.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "indices.h"
#include "isa.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

template <class Item>
void gather(const ferry_call& call, const ferry_gather_attr& attr) {
  const ferry_tensor& x = call.in[0];
  const ferry_tensor& indices = call.in[1];
  const ferry_tensor& out = call.out[0];
  const Item* const from = begin_of<const Item>(x);
  const int64_t* const index = begin_of<const int64_t>(indices);
  Item* const to = begin_of<Item>(out);
  const uint32_t axis = attr.axis;
  // Outside the axis, x is walked with the output's positions.
  std::array<int64_t, FERRY_MAX_DIMS> x_strides{}, index_strides{};
  std::copy(x.stride, x.stride + FERRY_MAX_DIMS, x_strides.begin());
  x_strides[axis] = 0;
  if (attr.mode == FERRY_GATHER_SELECT) {
    index_strides[axis] = indices.stride[0];
  } else {
    std::copy(indices.stride, indices.stride + FERRY_MAX_DIMS, index_strides.begin());
  }
  // Along the last dimension the steps are fixed.
  const uint32_t last = out.ndim - 1;
  const int64_t width = out.shape[last];
  const int64_t rows = count_of(out) / width;
  const int64_t x_step = x.stride[axis];
  parallel_for(rows, std::max<int64_t>(1, kGrain / width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto at =
          offsets_of<3>(out, {x_strides.data(), index_strides.data(), out.stride}, row * width);
      const Item* const source = from + at[0];
      const int64_t* const chosen = index + at[1];
      Item* const target = to + at[2];
      if (index_strides[last] == 0) {
        const Item* const line = source + *chosen * x_step;
        if (x_strides[last] == 1 && out.stride[last] == 1) {
          std::memcpy(target, line, static_cast<size_t>(width) * sizeof(Item));
          continue;
        }
        for (int64_t i = 0; i < width; ++i)
          target[i * out.stride[last]] = line[i * x_strides[last]];
        continue;
      }
      for (int64_t i = 0; i < width; ++i) {
        target[i * out.stride[last]] =
            source[i * x_strides[last] + chosen[i * index_strides[last]] * x_step];
      }
    }
  });
}

class GatherKernel final : public hal::Kernel {
 public:
  GatherKernel()
      : Kernel({FERRY_FAMILY_GATHER, (UINT64_C(1) << kDtypeCount) - 1,
                FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = static_cast<const ferry_gather_attr*>(call.attr);
    const bool known =
        attr != nullptr && attr->mode <= FERRY_GATHER_ELEMENT && call.in[1].dtype == FERRY_I64;
    return known ? hal::Status() : hal::Status(FERRY_DECLINED);
  }
  hal::Status launch(const ferry_call& call) const override {
    const auto& attr = *static_cast<const ferry_gather_attr*>(call.attr);
    const hal::Status valid = check_indices(call.in[1], call.in[0].shape[attr.axis], "gather");
    if (!valid.ok()) return valid;
    switch (item_size(call.in[0].dtype)) {
      case 1:
        gather<uint8_t>(call, attr);
        break;
      case 2:
        gather<uint16_t>(call, attr);
        break;
      case 4:
        gather<uint32_t>(call, attr);
        break;
      default:
        gather<uint64_t>(call, attr);
        break;
    }
    return {};
  }
};

}  // namespace

const hal::Kernel& gather_kernel() {
  static const auto* const kernel = new GatherKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
