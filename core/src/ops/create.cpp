// SPDX-License-Identifier: Apache-2.0
//
// Creation of tensors.
#include <cmath>
#include <string>
#include <utility>

#include "ferry/abi/program.h"
#include "ferry/error.h"
#include "ferry/stream.h"
#include "ferry/tensor.h"
#include "ops/map_builder.h"
#include "runtime/copy.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using runtime::DeviceState;

namespace {

/// The device of `options`, or the calling thread's current one.
DeviceState& device_of(const TensorOptions& options) {
  return DeviceState::get(options.device ? *options.device : current_device());
}

Tensor fresh(const TensorOptions& options, DType dtype, ShapeRef shape, const char* where) {
  if (!options.pin_memory) return detail::make_empty(device_of(options), dtype, shape, where);
  if (options.device && !options.device->is_cpu()) {
    throw InvalidArgument(where, "a tensor on " + options.device->str() +
                                     " is not in pinned memory, which is the CPU's: leave out the "
                                     "one or the other");
  }
  const auto strides = detail::contiguous_strides(shape);
  return detail::make_pinned({}, dtype, shape, {strides.data(), shape.size()}, where);
}

/// How many integers start, start + step, ... there are before end. Beyond 2^53
/// a double would miscount them.
int64_t steps_between(int64_t start, int64_t end, int64_t step) {
  const auto difference = [](int64_t from, int64_t to) {
    return static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
  };
  const uint64_t span = step > 0 ? difference(start, end) : difference(end, start);
  const uint64_t width = step > 0 ? static_cast<uint64_t>(step) : difference(step, 0);
  return static_cast<int64_t>(span / width + (span % width != 0 ? 1 : 0));
}

}  // namespace

Tensor empty(Sizes shape, TensorOptions options) {
  return fresh(options, options.dtype.value_or(kF32), shape, "empty");
}

Tensor zeros(Sizes shape, TensorOptions options) {
  return fresh(options, options.dtype.value_or(kF32), shape, "zeros").fill_(0);
}

Tensor ones(Sizes shape, TensorOptions options) {
  return fresh(options, options.dtype.value_or(kF32), shape, "ones").fill_(1);
}

Tensor full(Sizes shape, Scalar value, TensorOptions options) {
  // As in PyTorch the number decides, with the default width for floating ones.
  const DType kind = value.kind() == kF64 ? kF32 : value.kind();
  return fresh(options, options.dtype.value_or(kind), shape, "full").fill_(value);
}

Tensor arange(Scalar start, Scalar end, Scalar step, TensorOptions options) {
  const bool floating = start.kind() == kF64 || end.kind() == kF64 || step.kind() == kF64;
  const DType dtype = options.dtype.value_or(floating ? kF32 : kI64);
  if (dtype == kBool) throw InvalidArgument("arange", "bool has no ranges");
  const double span = end.to_double() - start.to_double();
  const double width = step.to_double();
  if (!(width != 0) || !std::isfinite(span) || !std::isfinite(width)) {
    throw InvalidArgument("arange", "start and end must be finite and step not 0");
  }
  const bool down = floating ? span < 0 : end.to_int() < start.to_int();
  const bool any = floating ? span != 0 : end.to_int() != start.to_int();
  if (any && down != (width < 0)) {
    throw InvalidArgument("arange", "step " + std::to_string(width) + " leads away from end " +
                                        std::to_string(end.to_double()));
  }
  const double count = std::ceil(span / width);
  if (count > 9.0e18) throw InvalidArgument("arange", "more elements than 64 bits can count");
  const int64_t sizes[] = {floating ? static_cast<int64_t>(count)
                                    : steps_between(start.to_int(), end.to_int(), step.to_int())};
  Tensor out = fresh(options, dtype, sizes, "arange");
  // Wide enough that start + i * step does not lose places on the way.
  ops::MapBuilder program(is_floating_point(dtype) || floating ? kF64 : kI64);
  const ops::Reg index = program.step(FERRY_OP_INDEX, {});
  const ops::Reg scaled = program.step(FERRY_OP_MUL, {index, program.constant(step)});
  const ops::Reg value = program.step(FERRY_OP_ADD, {scaled, program.constant(start)});
  program.run("arange", *out.impl()->storage->device, value, out);
  return out;
}

Tensor empty_like(const Tensor& tensor) {
  const detail::TensorImpl& impl = detail::impl_of(tensor, "empty_like");
  return detail::make_empty(*impl.storage->device, impl.dtype, impl.shape(), "empty_like");
}

Tensor zeros_like(const Tensor& tensor) { return empty_like(tensor).fill_(0); }

Tensor from_host(const void* data, DType dtype, Sizes shape, const Device& device) {
  Tensor out = detail::make_empty(DeviceState::get(device), dtype, shape, "from_host");
  if (out.numel() == 0) return out;
  if (data == nullptr) throw InvalidArgument("from_host", "the data is a null pointer");
  runtime::copy_from_host({out.impl()->storage, 0}, data, out.nbytes());
  return out;
}

Tensor from_blob(void* data, Sizes shape, DType dtype, std::function<void(void*)> deleter) {
  const int64_t numel = detail::checked_numel(shape, dtype, "from_blob");
  if (data == nullptr && numel > 0) {
    throw InvalidArgument("from_blob", "the data is a null pointer");
  }
  const size_t item = item_size(dtype);
  if (reinterpret_cast<uintptr_t>(data) % item != 0) {
    throw InvalidArgument("from_blob", "the data is not aligned to the " + std::to_string(item) +
                                           " bytes of " + std::string(name(dtype)));
  }
  detail::Storage* storage = detail::new_storage(DeviceState::get(Device()), 0);
  storage->host = static_cast<std::byte*>(data);
  storage->at = {{reinterpret_cast<uint64_t>(data)}, 0};
  storage->bytes = static_cast<uint64_t>(numel) * item;
  Tensor out;
  try {
    const auto strides = detail::contiguous_strides(shape);
    out = detail::make_view(storage, dtype, shape, {strides.data(), ShapeRef(shape).size()}, 0,
                            "from_blob");
  } catch (...) {
    detail::release(storage);
    throw;
  }
  // From here on the memory is in our care.
  storage->deleter = std::move(deleter);
  detail::release(storage);
  return out;
}

}  // namespace ferry
