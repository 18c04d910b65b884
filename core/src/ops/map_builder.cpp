// SPDX-License-Identifier: Apache-2.0
//
// MapBuilder, broadcasting, and the checks that ops share.
#include "ops/map_builder.h"

#include <algorithm>
#include <string>

#include "ferry/error.h"
#include "ops/dispatch.h"

namespace ferry::ops {

Reg MapBuilder::input(const Tensor& tensor) {
  if (n_in_ == kMaxInputs) throw InternalError("map", "too many inputs in one program");
  inputs_[n_in_] = tensor;
  return {0, n_in_++};
}

Reg MapBuilder::constant(Scalar value) {
  if (n_const_ == kMaxConstants) throw InternalError("map", "too many constants in one program");
  if (is_floating_point(compute_)) {
    constants_[n_const_].f = value.to_double();
  } else {
    constants_[n_const_].i = value.to_int();
  }
  return {1, n_const_++};
}

Reg MapBuilder::step(uint16_t op, std::initializer_list<Reg> args) {
  return step(op, std::span<const Reg>(args.begin(), args.size()));
}

Reg MapBuilder::step(uint16_t op, std::span<const Reg> args) {
  if (n_insn_ == kMaxSteps) throw InternalError("map", "too many steps in one program");
  insns_[n_insn_] = ferry_insn{op, 0, {0, 0, 0, 0}, 0};
  std::fill(args_[n_insn_].begin(), args_[n_insn_].end(), Reg{0, 0});
  std::copy(args.begin(), args.end(), args_[n_insn_].begin());
  return {2, n_insn_++};
}

const ferry_program* MapBuilder::finish(Reg result, uint32_t first_inputs) {
  // Only now are the counts known that fix the registers' numbers.
  const auto number = [&](Reg r) {
    const uint32_t in = first_inputs + n_in_;
    constexpr uint32_t kFirst = 0;
    const uint32_t bases[] = {first_inputs, in, in + n_const_, kFirst};
    return static_cast<uint16_t>(bases[r.kind] + r.number);
  };
  for (size_t i = 0; i < n_insn_; ++i) {
    for (size_t k = 0; k < 3; ++k) insns_[i].arg[k] = number(args_[i][k]);
  }
  out_ = number(result);
  program_ = {sizeof(ferry_program),
              static_cast<ferry_dtype>(compute_),
              first_inputs + n_in_,
              n_const_,
              n_insn_,
              1,
              constants_.data(),
              insns_.data(),
              &out_};
  return &program_;
}

void MapBuilder::run(const char* op, runtime::DeviceState& device, Reg result, const Tensor& out) {
  const detail::TensorImpl& target = *out.impl();
  if (target.numel == 0) return;
  for (size_t i = 0; i < n_in_; ++i) inputs_[i] = expand_to(inputs_[i], target.shape(), op);
  const ferry_program* program = finish(result);
  launch(device, {op, Family::kMap, {inputs_.data(), n_in_}, {&out, 1}, nullptr, program});
}

Tensor expand_to(const Tensor& tensor, ShapeRef shape, const char* where) {
  const detail::TensorImpl& impl = *tensor.impl();
  const ShapeRef own = impl.shape();
  if (std::equal(own.begin(), own.end(), shape.begin(), shape.end())) return tensor;
  std::array<int64_t, FERRY_MAX_DIMS> strides{};
  bool fits = own.size() <= shape.size();
  for (size_t i = 0; fits && i < own.size(); ++i) {
    const size_t from = own.size() - 1 - i;
    const size_t to = shape.size() - 1 - i;
    if (own[from] == shape[to]) {
      strides[to] = own[from] == 1 ? 0 : impl.stride_[from];
    } else {
      fits = own[from] == 1;
    }
  }
  if (!fits) {
    throw InvalidArgument(where,
                          "shape " + to_string(own) + " does not broadcast to " + to_string(shape));
  }
  return detail::make_view(impl.storage, impl.dtype, shape, {strides.data(), shape.size()},
                           impl.offset, where);
}

Shape broadcast_shapes(std::span<const ShapeRef> shapes, const char* where) {
  size_t ndim = 0;
  for (const ShapeRef s : shapes) ndim = std::max(ndim, s.size());
  Shape out(ndim, 1);
  for (const ShapeRef s : shapes) {
    for (size_t i = 0; i < s.size(); ++i) {
      int64_t& o = out[ndim - 1 - i];
      const int64_t size = s[s.size() - 1 - i];
      if (size == o || size == 1) continue;
      if (o != 1) {
        std::string all;
        for (const ShapeRef each : shapes) all += (all.empty() ? "" : " and ") + to_string(each);
        throw InvalidArgument(where, "shapes do not broadcast: " + all + " (sizes " +
                                         std::to_string(o) + " and " + std::to_string(size) +
                                         " meet in dimension " + std::to_string(ndim - 1 - i) +
                                         ")");
      }
      o = size;
    }
  }
  return out;
}

runtime::DeviceState& common_device(std::initializer_list<const Tensor*> tensors,
                                    const char* where) {
  runtime::DeviceState* device = nullptr;
  bool differ = false;
  for (const Tensor* t : tensors) {
    if (!t->defined()) continue;
    runtime::DeviceState* own = t->impl()->storage->device;
    differ = differ || (device != nullptr && device != own);
    if (device == nullptr) device = own;
  }
  if (device == nullptr) throw InvalidArgument(where, "the tensor is undefined");
  if (!differ) return *device;
  std::string text = "operands are on different devices:";
  for (const Tensor* t : tensors) {
    if (t->defined()) text += " " + t->device().str() + " " + to_string(t->impl()->shape()) + ",";
  }
  text.back() = '.';
  throw InvalidArgument(where, text +
                                   " Move them with to(); of a module, tensors outside of "
                                   "FERRY_MODULE are not moved");
}

void require_same_dtype(const Tensor& a, const Tensor& b, const char* where) {
  if (a.dtype() == b.dtype()) return;
  throw InvalidArgument(where, "dtypes differ: " + std::string(name(a.dtype())) + " and " +
                                   std::string(name(b.dtype())) + "; convert one with to()");
}

}  // namespace ferry::ops
