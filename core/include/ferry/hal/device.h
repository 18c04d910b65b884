// SPDX-License-Identifier: Apache-2.0
//
// Device and Backend: what the runtime talks to, and what the author of a C++
// plugin derives from.
#ifndef FERRY_HAL_DEVICE_H
#define FERRY_HAL_DEVICE_H

#include <memory>
#include <span>

#include "ferry/hal/allocator.h"
#include "ferry/hal/kernel.h"
#include "ferry/hal/stream.h"

namespace ferry::hal {

/// One open device. Thread-safe, except that one stream is used by one thread
/// at a time. A null stream means: synchronous, after all earlier work.
class Device {
 public:
  virtual ~Device() = default;

  virtual Allocator& allocator() = 0;

  /// Copy `bytes` >= 1 bytes. On a stream the copy may happen later; the caller
  /// keeps both sides alive and the host side unchanged until then.
  virtual Status copy_from_host(Stream* stream, ferry_location dst, const void* src,
                                uint64_t bytes) = 0;
  virtual Status copy_to_host(Stream* stream, void* dst, ferry_location src, uint64_t bytes) = 0;
  /// Inside this device; the ranges do not overlap.
  virtual Status copy(Stream* stream, ferry_location dst, ferry_location src, uint64_t bytes) = 0;

  /// Sets `bytes` >= 1 bytes to `value`. FERRY_E_MISSING: a kernel has to do it
  /// (the default).
  virtual Status fill(Stream* stream, ferry_location dst, uint8_t value, uint64_t bytes) {
    (void)stream, (void)dst, (void)value, (void)bytes;
    return Status(FERRY_E_MISSING);
  }

  /// From `source`, another device of this backend, in the order of `stream`,
  /// which is this device's. FERRY_E_MISSING: not possible (the default).
  virtual Status copy_from_peer(Stream* stream, ferry_location dst, Device& source,
                                ferry_location src, uint64_t bytes) {
    (void)stream, (void)dst, (void)source, (void)src, (void)bytes;
    return fail(FERRY_E_MISSING, "peer_copy", "this device has no copies from its peers");
  }

  /// Blocks until all work of the device is done; returns its first error, once.
  virtual Status synchronize() = 0;

  /// FERRY_E_MISSING: the device is synchronous (the default).
  virtual Status create_stream(int32_t priority, std::unique_ptr<Stream>* stream) {
    (void)priority, (void)stream;
    return Status(FERRY_E_MISSING);
  }
  virtual Status create_event(std::unique_ptr<Event>* event) {
    (void)event;
    return Status(FERRY_E_MISSING);
  }
  /// Bytes free now and in all. FERRY_E_MISSING: unknown.
  virtual Status memory_info(uint64_t* free_bytes, uint64_t* total_bytes) {
    (void)free_bytes, (void)total_bytes;
    return Status(FERRY_E_MISSING);
  }

  /// What stands for this object in calls into the plugin.
  virtual ferry_device handle() noexcept { return reinterpret_cast<ferry_device>(this); }
};

/// What a plugin offers: its devices and kernels. One object a process.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Called once, before everything else. A failure keeps the plugin out, with
  /// its reason in the load report. Creates no driver context.
  virtual Status start() { return Status(); }
  /// Number of devices. Creates no driver context; safe before fork.
  virtual uint32_t count() = 0;
  /// Fills `info` (zeroed, with its size set) for device `index` < count().
  virtual Status info(uint32_t index, ferry_device_info* info) = 0;
  virtual Status open(uint32_t index, std::unique_ptr<Device>* device) = 0;
  /// Whether copy_from_peer() works from device `source` to device `target`. The
  /// host tries it before it believes it.
  virtual bool peer_access(uint32_t target, uint32_t source) {
    (void)target, (void)source;
    return false;
  }
  /// The kernels, best first within a family; the same for the object's life.
  virtual std::span<const Kernel* const> kernels() = 0;
  /// Tables beside Ferry's own, for programs that know this backend; the same
  /// for the object's life.
  virtual std::span<const ferry_extension> extensions() { return {}; }
  /// Explicit shutdown: joins threads. Nothing is called afterwards.
  virtual void quiesce() {}
};

}  // namespace ferry::hal

#endif  // FERRY_HAL_DEVICE_H
