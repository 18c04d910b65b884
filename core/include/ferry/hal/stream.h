// SPDX-License-Identifier: Apache-2.0
//
// Stream and Event: the order of asynchronous work on one device.
#ifndef FERRY_HAL_STREAM_H
#define FERRY_HAL_STREAM_H

#include "ferry/hal/status.h"

namespace ferry::hal {

class Stream;

/// A point in the work of a stream. Destroyed by the host at any time.
class Event {
 public:
  virtual ~Event() = default;

  /// Happens when the work now in `stream` is done; replaces an earlier record.
  virtual Status record(Stream& stream) = 0;
  /// Blocks until it has happened, and returns the first error of its stream,
  /// once, as the stream's synchronize() does. An event never recorded has
  /// happened.
  virtual Status synchronize() = 0;
  /// FERRY_OK when it has happened, else FERRY_NOT_READY; or that error. Does
  /// not block.
  virtual Status query() = 0;
  /// Milliseconds from `begin` to this; both have happened.
  virtual Status elapsed_since(Event& begin, double* milliseconds) {
    (void)begin, (void)milliseconds;
    return fail(FERRY_E_MISSING, "event_elapsed", "this device does not time events");
  }

  /// What stands for this object in calls into the plugin.
  virtual ferry_event handle() noexcept { return reinterpret_cast<ferry_event>(this); }
};

/// A queue of work that happens in order. Used by one thread at a time; idle
/// when it is destroyed.
class Stream {
 public:
  virtual ~Stream() = default;

  /// Blocks until the work is done; returns its first error, once.
  virtual Status synchronize() = 0;
  /// Later work of this stream waits for `event`. Does not block.
  virtual Status wait(Event& event) = 0;
  /// Calls `function(argument)` on another thread when the work now in the
  /// stream is done. It must not call the device.
  virtual Status host_function(void (*function)(void*), void* argument) {
    (void)function, (void)argument;
    return fail(FERRY_E_MISSING, "host_function", "this device has no host functions");
  }
  /// The vendor's own stream, as a number.
  virtual Status native(uint64_t* native) {
    (void)native;
    return fail(FERRY_E_MISSING, "native_stream", "this device has no native stream");
  }

  virtual ferry_stream handle() noexcept { return reinterpret_cast<ferry_stream>(this); }
};

}  // namespace ferry::hal

#endif  // FERRY_HAL_STREAM_H
