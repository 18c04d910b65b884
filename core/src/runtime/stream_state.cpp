// SPDX-License-Identifier: Apache-2.0
//
// Waiting: of the host for a stream, and of one stream for another.
#include "runtime/stream_state.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "ferry/error.h"
#include "runtime/device_state.h"
#include "runtime/watchdog.h"

namespace ferry::runtime {

void StreamState::raise_done(uint64_t ticket) noexcept {
  uint64_t known = done_.load(std::memory_order_relaxed);
  while (known < ticket && !done_.compare_exchange_weak(known, ticket, std::memory_order_acq_rel)) {
  }
}

StreamState::Mark StreamState::mark() {
  Mark out;
  out.event = device_.take_event();
  if (out.event == nullptr) return out;
  const std::lock_guard lock(mutex_);
  out.ticket = submitted();
  device_.check(out.event->record(*hal_), "event_record");
  return out;
}

void StreamState::wait(uint64_t ticket) {
  if (hal_ == nullptr || done() >= ticket) return;
  device_.require_usable();
  Mark here = mark();
  if (here.event == nullptr) {
    // A device without events: its streams can only be waited for as a whole.
    const std::lock_guard lock(mutex_);
    const uint64_t all = submitted();
    const hal::Status status = hal_->synchronize();
    raise_done(all);
    device_.check(status, "synchronize");
    return;
  }
  const hal::Status status =
      watchdog_limit().count() > 0 ? watch(*here.event, ticket) : here.event->synchronize();
  raise_done(here.ticket);
  device_.give_event(std::move(here.event), {});
  device_.check(status, "synchronize");
}

void StreamState::synchronize() { wait(submitted()); }

bool StreamState::query() {
  const uint64_t all = submitted();
  if (hal_ == nullptr || done() >= all) return true;
  Mark here = mark();
  if (here.event == nullptr) return false;
  const hal::Status status = here.event->query();
  const bool happened = status.code() != FERRY_NOT_READY;
  if (happened) raise_done(here.ticket);
  device_.give_event(std::move(here.event), {this, here.ticket});
  device_.check(status, "query");
  return happened;
}

bool StreamState::poll(uint64_t ticket) {
  if (hal_ == nullptr || done() >= ticket) return true;
  const std::lock_guard lock(polled_mutex_);
  while (!polled_.empty()) {
    const hal::Status status = polled_.front().event->query();
    if (status.code() == FERRY_NOT_READY) break;
    Mark happened = std::move(polled_.front());
    polled_.pop_front();
    raise_done(happened.ticket);
    device_.give_event(std::move(happened.event), {});
    device_.check(status, "query");
  }
  if (done() >= ticket) return true;
  // A mark behind the ticket stays until it happens: a new one each time would
  // never be reached in a stream that is kept busy.
  if (polled_.empty() || polled_.back().ticket < ticket) {
    Mark here = mark();
    if (here.event != nullptr) polled_.push_back(std::move(here));
  }
  return false;
}

void StreamState::wait_for(const Use& use) {
  if (use.stream == this || use.done()) return;
  if (&use.stream->device() != &device_ || hal_ == nullptr) {
    use.wait();
    return;
  }
  const size_t other = use.stream->index();
  {
    const std::lock_guard lock(mutex_);
    if (waited_.size() > other && waited_[other] >= use.ticket) return;
  }
  // One lock at a time: two streams may wait for each other's past.
  Mark there = use.stream->mark();
  if (there.event == nullptr) {
    use.wait();
    return;
  }
  uint64_t own = 0;
  {
    const std::lock_guard lock(mutex_);
    device_.check(hal_->wait(*there.event), "stream_wait");
    if (waited_.size() <= other) waited_.resize(other + 1, 0);
    waited_[other] = std::max(waited_[other], there.ticket);
    own = submit();
  }
  device_.give_event(std::move(there.event), {this, own});
}

void StreamState::name_work(uint64_t ticket, const char* name) {
  std::unique_ptr<hal::Event> event = device_.take_event();
  if (event == nullptr) return;
  if (!event->record(*hal_).ok()) return;
  std::erase_if(named_, [this](const Named& n) { return n.ticket <= done(); });
  named_.push_back({ticket, name, std::move(event)});
}

hal::Status StreamState::watch(hal::Event& event, uint64_t ticket) {
  const auto start = std::chrono::steady_clock::now();
  auto pause = std::chrono::microseconds(20);
  for (;;) {
    const hal::Status status = event.query();
    if (status.code() != FERRY_NOT_READY) return status;
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > watchdog_limit()) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
  std::string name = "some work";
  {
    const std::lock_guard lock(mutex_);
    for (const Named& n : named_) {
      if (n.ticket <= ticket && n.event->query().code() == FERRY_NOT_READY) {
        name = "'" + std::string(n.name) + "'";
        break;
      }
    }
  }
  device_.declare_lost(name + " did not finish within the " +
                       std::to_string(watchdog_limit().count()) + " ms of FERRY_WATCHDOG_MS");
  device_.require_usable();
  return hal::Status(FERRY_E_LOST);
}

}  // namespace ferry::runtime
