// SPDX-License-Identifier: Apache-2.0
//
// Stream and Event: concurrency on one device, and the guards that choose the
// calling thread's device and stream.
//
// Each device has a default stream, which all threads share; a program that
// never makes another one need not read on. Work on one stream happens in
// order. Work on two may overlap, but every tensor is ordered by itself: what
// reads or writes it waits for what wrote or read it before, on any stream, and
// its memory is reused only after that. So streams change speed, not results.
#ifndef FERRY_STREAM_H
#define FERRY_STREAM_H

#include <memory>
#include <optional>

#include "ferry/device.h"
#include "ferry/export.h"

namespace ferry {

namespace detail {
class StreamHandle;
class EventHandle;
}  // namespace detail

class Event;

/// A handle; copies name the same stream. When the last one goes, pending work
/// still happens.
class FERRY_API Stream {
 public:
  /// A new stream of `device`; a negative priority is more urgent, where the
  /// device knows priorities. On a synchronous device, such as the CPU, it is
  /// always idle.
  explicit Stream(const Device& device, int priority = 0);
  /// The device's default stream.
  static Stream default_of(const Device& device);
  /// The calling thread's current stream of the device.
  static Stream current(const Device& device);

  Device device() const;
  /// Blocks until all its work is done; throws the first error of that work.
  void synchronize() const;
  /// Whether all its work is done. Does not block.
  bool query() const;
  /// Later work of this stream comes after `event`, or after the work now in
  /// `other`. Does not block within one device.
  void wait(const Event& event) const;
  void wait(const Stream& other) const;

  /// Whether both name one stream.
  FERRY_API friend bool operator==(const Stream& a, const Stream& b) noexcept;

 private:
  friend class Event;
  friend class StreamGuard;
  explicit Stream(std::shared_ptr<detail::StreamHandle> handle) : handle_(std::move(handle)) {}
  std::shared_ptr<detail::StreamHandle> handle_;
};

/// A point in the work of a stream. A handle, as Stream.
class FERRY_API Event {
 public:
  Event() = default;
  /// Happens when the work now in `stream` is done; replaces an earlier record.
  void record(const Stream& stream);
  void record(const Device& device) { record(Stream::current(device)); }
  /// Blocks until it has happened. An event never recorded has happened.
  void synchronize() const;
  bool query() const;
  /// Milliseconds from `begin` to this event on the device's clock; waits for
  /// both. UnsupportedError where the device does not time events,
  /// InvalidArgument where one was not recorded or they are of two devices.
  double elapsed_since(const Event& begin) const;

 private:
  friend class Stream;
  std::shared_ptr<detail::EventHandle> handle_;
};

/// The calling thread's device for tensors created without one: what
/// set_device() set, else default_device().
FERRY_API Device current_device();
FERRY_API void set_device(const Device& device);

/// Sets the current device for its lifetime. Stays on its thread.
class FERRY_API DeviceGuard {
 public:
  explicit DeviceGuard(const Device& device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  std::optional<Device> before_;
};

/// Makes `stream` the current one of its device, on this thread, for its
/// lifetime. Stays on its thread.
class FERRY_API StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream stream_;
  Stream before_;
};

}  // namespace ferry

#endif  // FERRY_STREAM_H
