// SPDX-License-Identifier: Apache-2.0
//
// The byte of a value, and the device's fill.
#include "ops/byte_fill.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "ferry/sdk/convert.h"
#include "ops/map_builder.h"
#include "runtime/device_state.h"
#include "runtime/host_services.h"
#include "runtime/submission.h"

namespace ferry::ops {
namespace {

/// The bytes of `value`, computed in C, as an element of `dtype`.
template <class C>
std::optional<uint8_t> common_byte(DType dtype, C value) {
  return sdk::visit_dtype(static_cast<uint32_t>(dtype), [&](auto tag) -> std::optional<uint8_t> {
    const auto element = sdk::store_as<decltype(tag)>(value);
    std::array<uint8_t, sizeof element> bytes;
    std::memcpy(bytes.data(), &element, sizeof element);
    const bool same =
        std::all_of(bytes.begin(), bytes.end(), [&](uint8_t b) { return b == bytes[0]; });
    return same ? std::optional(bytes[0]) : std::nullopt;
  });
}

/// As a map program with the constant `value` would store it.
std::optional<uint8_t> byte_of(DType dtype, Scalar value) {
  switch (compute_type(dtype)) {
    case kF64:
      return common_byte(dtype, value.to_double());
    case kF32:
      return common_byte(dtype, static_cast<float>(value.to_double()));
    case kI64:
      return common_byte(dtype, value.to_int());
    default:
      return common_byte(dtype, static_cast<int32_t>(value.to_int()));
  }
}

}  // namespace

bool try_byte_fill(const detail::TensorImpl& impl, Scalar value) {
  if (!impl.contiguous) return false;
  const std::optional<uint8_t> byte = byte_of(impl.dtype, value);
  if (!byte) return false;
  runtime::DeviceState& device = *impl.storage->device;
  const uint64_t item = item_size(impl.dtype);
  ferry_location at = impl.storage->at;
  at.offset += static_cast<uint64_t>(impl.offset) * item;
  runtime::Submission work(device);
  work.writes(*impl.storage);
  work.begin();
  const hal::Status status =
      device.hal().fill(work.stream(), at, *byte, static_cast<uint64_t>(impl.numel) * item);
  (void)work.end("fill");
  if (status.ok()) return true;
  if (status.code() == FERRY_E_LOST) device.check(status, "fill");
  // A kernel may do what the fill did not.
  (void)runtime::take_failure();
  return false;
}

}  // namespace ferry::ops
