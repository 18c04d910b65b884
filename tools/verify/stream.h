// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of the plugin under test, which fail the check where the
// plugin fails them.
#ifndef FERRY_TOOLS_VERIFY_STREAM_H
#define FERRY_TOOLS_VERIFY_STREAM_H

#include <string>

#include "device.h"

namespace ferry::verify {

/// The stream table; NotApplicable where there is none, or the device makes no
/// streams.
const ferry_stream_api& streams_of(const Plugin& plugin, OpenDevice& device);

class OpenStream {
 public:
  OpenStream(const ferry_stream_api& api, OpenDevice& device);
  /// Waits and destroys; not where the check has failed.
  ~OpenStream();
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

  ferry_stream handle() const { return stream_; }
  void sync() { device_.sync(stream_); }
  /// Later work waits for the event.
  void wait(ferry_event event);

 private:
  const ferry_stream_api& api_;
  OpenDevice& device_;
  ferry_stream stream_ = nullptr;
};

class OpenEvent {
 public:
  OpenEvent(const ferry_stream_api& api, OpenDevice& device);
  ~OpenEvent();
  OpenEvent(const OpenEvent&) = delete;
  OpenEvent& operator=(const OpenEvent&) = delete;

  ferry_event handle() const { return event_; }
  void record(const OpenStream& stream);
  void sync();
  /// Whether it has happened.
  bool query();

 private:
  const ferry_stream_api& api_;
  OpenDevice& device_;
  ferry_event event_ = nullptr;
};

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_STREAM_H
