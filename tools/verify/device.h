// SPDX-License-Identifier: Apache-2.0
//
// OpenDevice: a device of the plugin under test, every call of which fails the
// check where the plugin fails it.
#ifndef FERRY_TOOLS_VERIFY_DEVICE_H
#define FERRY_TOOLS_VERIFY_DEVICE_H

#include <cstdint>
#include <string>
#include <vector>

#include "abi_host.h"

namespace ferry::verify {

using Bytes = std::vector<uint8_t>;

/// Bytes that no neighbour repeats; another seed gives others.
Bytes pattern(uint64_t size, uint32_t seed);
/// "byte 17 is 3, not 42", or nothing where they are equal.
std::string difference(const Bytes& got, const Bytes& want);

class OpenDevice {
 public:
  explicit OpenDevice(const Plugin& plugin, uint32_t index = 0);
  /// Waits, releases the blocks that are left and closes; not where the check
  /// has failed, whose text must reach the parent whatever the plugin does.
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  ferry_device handle() const { return device_; }
  const ferry_core_api& core() const { return core_; }

  ferry_memory alloc(uint64_t bytes, uint32_t space = FERRY_SPACE_DEVICE);
  void release(ferry_memory memory);
  void h2d(ferry_location dst, const void* src, uint64_t bytes, ferry_stream stream = nullptr);
  void d2h(void* dst, ferry_location src, uint64_t bytes, ferry_stream stream = nullptr);
  void d2d(ferry_location dst, ferry_location src, uint64_t bytes, ferry_stream stream = nullptr);
  void sync(ferry_stream stream = nullptr);

  /// A block with these bytes.
  ferry_memory block_of(const Bytes& bytes);
  /// The bytes of a block, or of a part.
  Bytes read(ferry_memory memory, uint64_t bytes, uint64_t offset = 0);

 private:
  const ferry_core_api& core_;
  ferry_device device_ = nullptr;
  std::vector<uint64_t> live_;  ///< handles
};

/// A plugin, initialised, and its first device.
struct Bench {
  explicit Bench(const std::string& path) : plugin(Plugin::initialised(path)), device(plugin) {}
  Plugin plugin;
  OpenDevice device;
};

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_DEVICE_H
