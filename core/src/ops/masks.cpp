// SPDX-License-Identifier: Apache-2.0
//
// Masks, and the positions where they are true.
#include <algorithm>
#include <string>
#include <vector>

#include "ferry/error.h"
#include "ferry/indexing.h"
#include "ferry/ops.h"
#include "ops/map_builder.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;

namespace {

void require_mask(const Tensor& mask, const char* where) {
  const DType dtype = impl_of(mask, where).dtype;
  if (dtype == kBool) return;
  throw InvalidArgument(where, "the mask must be bool, not " + std::string(name(dtype)));
}

/// Of x, with `value` where the mask is true; a register of the value given.
template <class Value>
Tensor fill(const Tensor& x, const Tensor& mask, const char* where, Value&& value) {
  const TensorImpl& impl = impl_of(x, where);
  require_mask(mask, where);
  runtime::DeviceState& device = ops::common_device({&x, &mask}, where);
  const ShapeRef shapes[] = {impl.shape(), mask.impl()->shape()};
  Tensor out = detail::make_empty(device, impl.dtype, ops::broadcast_shapes(shapes, where), where);
  ops::MapBuilder program(ops::compute_type(impl.dtype));
  const ops::Reg condition = program.input(mask);
  const ops::Reg filled = value(program);
  const ops::Reg kept = program.input(x);
  program.run(where, device, program.step(FERRY_OP_WHERE, {condition, filled, kept}), out);
  return out;
}

Scalar in_kind(DType dtype, Scalar value) {
  return dtype == kBool ? Scalar(value.to_bool()) : value;
}

const Tensor& written(const Tensor& x, const Tensor& filled, const char* where) {
  if (!std::ranges::equal(filled.impl()->shape(), x.impl()->shape())) {
    throw InvalidArgument(where,
                          "the mask does not broadcast to shape " + to_string(x.impl()->shape()));
  }
  return x.copy_(filled);
}

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value) {
  const Scalar number = in_kind(impl_of(x, "masked_fill").dtype, value);
  return fill(x, mask, "masked_fill",
              [&](ops::MapBuilder& program) { return program.constant(number); });
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  const TensorImpl& given = impl_of(value, "masked_fill");
  if (given.ndim != 0) {
    throw InvalidArgument(
        "masked_fill", "the value must have no dimensions, not shape " + to_string(given.shape()));
  }
  const Tensor here = value.to(impl_of(x, "masked_fill").storage->device->device(), x.dtype());
  return fill(x, mask, "masked_fill",
              [&](ops::MapBuilder& program) { return program.input(here); });
}

const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, Scalar value) {
  return written(x, masked_fill(x, mask, value), "masked_fill_");
}

const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, const Tensor& value) {
  return written(x, masked_fill(x, mask, value), "masked_fill_");
}

Tensor nonzero(const Tensor& x) {
  const TensorImpl& impl = impl_of(x, "nonzero");
  const Tensor mask = impl.dtype == kBool ? x : ne(x, 0);
  // The count must be known here before the result can be made, so one byte an
  // element comes along rather than the sum of them.
  std::vector<uint8_t> flags(static_cast<size_t>(impl.numel));
  mask.copy_to_host(flags.data(), kBool);
  const ShapeRef shape = impl.shape();
  std::vector<int64_t> places;
  std::vector<int64_t> at(shape.size(), 0);
  int64_t count = 0;
  for (const uint8_t flag : flags) {
    if (flag != 0) {
      places.insert(places.end(), at.begin(), at.end());
      ++count;
    }
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return from_host(places.data(), kI64, {count, static_cast<int64_t>(impl.ndim)}, x.device());
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  const TensorImpl& impl = impl_of(x, "masked_select");
  require_mask(mask, "masked_select");
  ops::common_device({&x, &mask}, "masked_select");
  const ShapeRef shapes[] = {impl.shape(), mask.impl()->shape()};
  const Shape shape = ops::broadcast_shapes(shapes, "masked_select");
  const Tensor whole = ops::expand_to(x, shape, "masked_select");
  const Tensor chosen = ops::expand_to(mask, shape, "masked_select");
  const int64_t n = whole.impl()->numel;
  const Tensor places = nonzero(chosen.reshape({n})).view({-1});
  return index_select(whole.reshape({n}), 0, places);
}

}  // namespace ferry
