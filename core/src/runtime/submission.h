// SPDX-License-Identifier: Apache-2.0
//
// Submission: gives one piece of work to a device's stream, after the work of
// other streams that it depends on.
#ifndef FERRY_RUNTIME_SUBMISSION_H
#define FERRY_RUNTIME_SUBMISSION_H

#include <mutex>
#include <vector>

#include "runtime/device_state.h"
#include "runtime/storage.h"

namespace ferry::runtime {

/// Use: declare what is read and written, begin(), submit to stream(), end().
/// Dependencies follow from the declarations, so that a program with several
/// streams gives the same results as with one.
class Submission {
 public:
  /// On the calling thread's current stream of the device.
  explicit Submission(DeviceState& device);
  Submission(DeviceState& device, StreamState& stream);
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

  void reads(detail::Storage& storage);
  void writes(detail::Storage& storage);

  /// Arranges the waits and takes the stream's lock; blocks where the device is
  /// synchronous or the work is another device's.
  void begin();
  /// Null where the device is synchronous.
  hal::Stream* stream() const noexcept { return stream_.hal(); }
  /// Counts the work, whose name is for the watchdog, and gives up the lock.
  Use end(const char* name);

 private:
  struct Touched {
    detail::Storage* storage;
    bool written;
  };
  void wait_for(detail::Storage& storage, bool written);

  DeviceState& device_;
  StreamState& stream_;
  std::unique_lock<std::mutex> lock_;
  std::vector<Touched> touched_;  // stays empty where nothing need be recorded
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_SUBMISSION_H
