// SPDX-License-Identifier: Apache-2.0
//
// StreamState: one stream of an open device, with the count of its work and
// what it waited for.
#ifndef FERRY_RUNTIME_STREAM_STATE_H
#define FERRY_RUNTIME_STREAM_STATE_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "ferry/hal/stream.h"
#include "runtime/use.h"

namespace ferry::runtime {

class DeviceState;

/// Every piece of work has a ticket: 1, 2, 3, ... in the order of submission,
/// which is the order of execution. Made with its device or by a user's Stream,
/// never destroyed; handles of users are reused.
class StreamState {
 public:
  StreamState(DeviceState& device, size_t index, int priority, std::unique_ptr<hal::Stream> stream)
      : device_(device), index_(index), priority_(priority), hal_(std::move(stream)) {}

  DeviceState& device() const noexcept { return device_; }
  size_t index() const noexcept { return index_; }
  int priority() const noexcept { return priority_; }
  /// Null where the device is synchronous. Used under mutex().
  hal::Stream* hal() const noexcept { return hal_.get(); }
  std::mutex& mutex() noexcept { return mutex_; }

  uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  /// All work up to this ticket is known to be done.
  uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Under mutex(): counts one more piece of work and returns its ticket.
  uint64_t submit() noexcept { return submitted_.fetch_add(1, std::memory_order_acq_rel) + 1; }

  /// Blocks the calling thread until `ticket` is done; throws the stream's first
  /// error, once. Other threads go on submitting.
  void wait(uint64_t ticket);
  /// The same for everything submitted up to now.
  void synchronize();
  /// Whether everything submitted up to now is done. Does not block.
  bool query();
  /// Whether `ticket` is done, as far as the device says. Does not block, and
  /// gets to know in the end however much work follows. Throws the stream's
  /// first error, once.
  bool poll(uint64_t ticket);
  /// Later work of this stream comes after `use`: through an event where both
  /// are of one device, else by blocking the calling thread.
  void wait_for(const Use& use);

  /// For the watchdog: the name of the work with `ticket` (a literal), under
  /// mutex().
  void name_work(uint64_t ticket, const char* name);

 private:
  /// An event behind all work submitted so far, and that work's last ticket.
  struct Mark {
    std::unique_ptr<hal::Event> event;
    uint64_t ticket = 0;
  };
  Mark mark();
  bool poll_marks(uint64_t ticket, bool* known);
  hal::Status watch(hal::Event& event, uint64_t ticket);
  void raise_done(uint64_t ticket) noexcept;

  struct Named {
    uint64_t ticket;
    const char* name;
    std::unique_ptr<hal::Event> event;
  };

  DeviceState& device_;
  size_t index_;
  int priority_;
  std::unique_ptr<hal::Stream> hal_;
  std::mutex mutex_;
  std::atomic<uint64_t> submitted_{0}, done_{0};
  std::vector<uint64_t> waited_;  // by stream index: the ticket waited for
  std::vector<Named> named_;      // only with a watchdog
  std::mutex polled_mutex_;
  std::deque<Mark> polled_;  // by rising ticket: what poll() asks for
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_STREAM_STATE_H
