// SPDX-License-Identifier: Apache-2.0
//
// The public Stream and Event, and the calling thread's device.
#include "ferry/stream.h"

#include <mutex>
#include <utility>

#include "ferry/error.h"
#include "runtime/device_state.h"

namespace ferry {

using runtime::DeviceState;
using runtime::StreamState;
using runtime::Use;

namespace detail {

/// Gives a stream that a user made back for reuse when the last handle goes.
class StreamHandle {
 public:
  StreamHandle(StreamState& state, bool owned) : state_(state), owned_(owned) {}
  ~StreamHandle() {
    if (owned_) state_.device().release_stream(state_);
  }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;
  StreamState& state() const noexcept { return state_; }

 private:
  StreamState& state_;
  bool owned_;
};

class EventHandle {
 public:
  EventHandle(std::shared_ptr<StreamHandle> stream, Use use, std::unique_ptr<hal::Event> event)
      : stream_(std::move(stream)), use_(use), event_(std::move(event)) {}
  ~EventHandle() { use_.stream->device().give_event(std::move(event_), use_); }
  EventHandle(const EventHandle&) = delete;
  EventHandle& operator=(const EventHandle&) = delete;

  const Use& use() const noexcept { return use_; }
  hal::Event* event() const noexcept { return event_.get(); }

 private:
  std::shared_ptr<StreamHandle> stream_;
  Use use_;
  std::unique_ptr<hal::Event> event_;
};

}  // namespace detail

namespace {

/// Of the calling thread: its device, and handles of the streams it chose, kept
/// alive while they are current.
thread_local std::optional<Device> thread_device;

}  // namespace

Stream::Stream(const Device& device, int priority) {
  StreamState& state = DeviceState::get(device).acquire_stream(priority);
  handle_ = std::make_shared<detail::StreamHandle>(state, true);
}

Stream Stream::default_of(const Device& device) {
  StreamState& state = DeviceState::get(device).default_stream();
  return Stream(std::make_shared<detail::StreamHandle>(state, false));
}

Stream Stream::current(const Device& device) {
  StreamState& state = DeviceState::get(device).current_stream();
  return Stream(std::make_shared<detail::StreamHandle>(state, false));
}

bool operator==(const Stream& a, const Stream& b) noexcept {
  return &a.handle_->state() == &b.handle_->state();
}

Device Stream::device() const { return handle_->state().device().device(); }
void Stream::synchronize() const { handle_->state().synchronize(); }
bool Stream::query() const { return handle_->state().query(); }

void Stream::wait(const Event& event) const {
  if (event.handle_ != nullptr) handle_->state().wait_for(event.handle_->use());
}
void Stream::wait(const Stream& other) const {
  StreamState& theirs = other.handle_->state();
  handle_->state().wait_for({&theirs, theirs.submitted()});
}

void Event::record(const Stream& stream) {
  StreamState& state = stream.handle_->state();
  DeviceState& device = state.device();
  device.require_usable();
  std::unique_ptr<hal::Event> event;
  Use use{&state, 0};
  if (state.hal() != nullptr) {
    event = device.take_event();
    const std::lock_guard lock(state.mutex());
    use.ticket = state.submitted();
    if (event != nullptr) device.check(event->record(*state.hal()), "event_record");
  }
  handle_ = std::make_shared<detail::EventHandle>(stream.handle_, use, std::move(event));
}

void Event::synchronize() const {
  if (handle_ != nullptr) handle_->use().wait();
}

bool Event::query() const {
  if (handle_ == nullptr || handle_->use().done()) return true;
  DeviceState& device = handle_->use().stream->device();
  device.require_usable();
  if (handle_->event() == nullptr) return handle_->use().stream->query();
  const hal::Status status = handle_->event()->query();
  device.check(status, "event_query");
  return status.code() != FERRY_NOT_READY;
}

double Event::elapsed_since(const Event& begin) const {
  if (handle_ == nullptr || begin.handle_ == nullptr) {
    throw InvalidArgument("elapsed_since", "both events must have been recorded");
  }
  DeviceState& device = handle_->use().stream->device();
  if (&device != &begin.handle_->use().stream->device()) {
    throw InvalidArgument("elapsed_since",
                          "the events are of two devices, " + device.device().str() + " and " +
                              begin.handle_->use().stream->device().device().str());
  }
  if (handle_->event() == nullptr || begin.handle_->event() == nullptr) {
    throw UnsupportedError("elapsed_since", device.device().str() + " does not time events");
  }
  begin.synchronize();
  synchronize();
  double milliseconds = 0;
  device.check(handle_->event()->elapsed_since(*begin.handle_->event(), &milliseconds),
               "event_elapsed");
  return milliseconds;
}

Device current_device() {
  if (thread_device) return *thread_device;
  static const Device chosen = default_device();
  return chosen;
}

void set_device(const Device& device) {
  (void)DeviceState::get(device);
  thread_device = device;
}

DeviceGuard::DeviceGuard(const Device& device) : before_(thread_device) { set_device(device); }
DeviceGuard::~DeviceGuard() { thread_device = before_; }

StreamGuard::StreamGuard(const Stream& stream)
    : stream_(stream), before_(Stream::current(stream.device())) {
  StreamState& state = stream_.handle_->state();
  state.device().set_current_stream(state);
}
StreamGuard::~StreamGuard() {
  StreamState& state = before_.handle_->state();
  state.device().set_current_stream(state);
}

}  // namespace ferry
