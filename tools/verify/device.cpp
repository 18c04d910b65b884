// SPDX-License-Identifier: Apache-2.0
//
// The calls of a device with their names, for the texts of failures.
#include "device.h"

#include <algorithm>
#include <exception>

#include "check.h"

namespace ferry::verify {

Bytes pattern(uint64_t size, uint32_t seed) {
  Bytes out(size);
  uint32_t state = seed * 2654435761u + 12345;
  for (uint8_t& byte : out) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
  }
  return out;
}

std::string difference(const Bytes& got, const Bytes& want) {
  if (got.size() != want.size()) return fmt::format("{} bytes, not {}", got.size(), want.size());
  const auto at = std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin();
  const auto i = static_cast<size_t>(at);
  return i == got.size() ? "" : fmt::format("byte {} is {}, not {}", i, got[i], want[i]);
}

OpenDevice::OpenDevice(const Plugin& plugin, uint32_t index) : core_(plugin.core()) {
  step(fmt::format("open({})", index));
  expect_ok(core_.open(index, &device_), fmt::format("open({})", index));
}

OpenDevice::~OpenDevice() {
  if (std::uncaught_exceptions() > 0) return;
  step("sync, release and close at the end");
  core_.sync(device_, nullptr);
  for (const uint64_t handle : live_) core_.release(device_, {handle});
  core_.close(device_);
}

ferry_memory OpenDevice::alloc(uint64_t bytes, uint32_t space) {
  const std::string call = fmt::format("alloc of {} bytes", bytes);
  step(call);
  ferry_memory memory{0};
  expect_ok(core_.alloc(device_, space, bytes, &memory), call);
  expect(memory.handle != 0, "{} gave FERRY_OK and handle 0, which is no memory", call);
  live_.push_back(memory.handle);
  return memory;
}

void OpenDevice::release(ferry_memory memory) {
  step("release");
  live_.erase(std::remove(live_.begin(), live_.end(), memory.handle), live_.end());
  expect_ok(core_.release(device_, memory), "release");
}

void OpenDevice::h2d(ferry_location dst, const void* src, uint64_t bytes, ferry_stream stream) {
  const std::string call = fmt::format("h2d of {} bytes to offset {}", bytes, dst.offset);
  step(call);
  expect_ok(core_.h2d(device_, stream, dst, src, bytes), call);
}

void OpenDevice::d2h(void* dst, ferry_location src, uint64_t bytes, ferry_stream stream) {
  const std::string call = fmt::format("d2h of {} bytes from offset {}", bytes, src.offset);
  step(call);
  expect_ok(core_.d2h(device_, stream, dst, src, bytes), call);
}

void OpenDevice::d2d(ferry_location dst, ferry_location src, uint64_t bytes, ferry_stream stream) {
  const std::string call =
      fmt::format("d2d of {} bytes from offset {} to {}", bytes, src.offset, dst.offset);
  step(call);
  expect_ok(core_.d2d(device_, stream, dst, src, bytes), call);
}

void OpenDevice::sync(ferry_stream stream) {
  const char* const call = stream == nullptr ? "sync of the device" : "sync of a stream";
  step(call);
  expect_ok(core_.sync(device_, stream), call);
}

ferry_memory OpenDevice::block_of(const Bytes& bytes) {
  const ferry_memory memory = alloc(bytes.size());
  h2d({memory, 0}, bytes.data(), bytes.size());
  return memory;
}

Bytes OpenDevice::read(ferry_memory memory, uint64_t bytes, uint64_t offset) {
  Bytes out(bytes);
  d2h(out.data(), {memory, offset}, bytes);
  return out;
}

}  // namespace ferry::verify
