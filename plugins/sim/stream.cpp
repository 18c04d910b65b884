// SPDX-License-Identifier: Apache-2.0
//
// The worker of a queue, and streams and events over it.
#include "stream.h"

#include <exception>
#include <utility>

#include "faults.h"

namespace ferry::sim {

uint64_t Queue::submit(Work work) {
  const std::lock_guard lock(mutex_);
  // First, since there may be no thread to have: then nothing was submitted.
  if (!thread_.joinable()) thread_ = std::thread([self = shared_from_this()] { self->run(); });
  work_.push_back(std::move(work));
  changed_.notify_all();
  return ++submitted_;
}

void Queue::run() {
  const bool lazy = options().mode == Mode::kLazy;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] {
      const bool allowed = !lazy || closing_ || wanted_ > done_;
      return (!work_.empty() && allowed) || (work_.empty() && closing_);
    });
    if (work_.empty()) return;
    Work work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    pause_before_work();
    Outcome outcome;
    try {
      outcome = work();
    } catch (const std::exception& e) {
      outcome = {FERRY_E_OTHER, e.what()};
    } catch (...) {
      outcome = {FERRY_E_OTHER, "work threw something that is no exception"};
    }
    work = nullptr;  // what it holds is released before it counts as done
    lock.lock();
    if (outcome.code != FERRY_OK && error_.code == FERRY_OK) error_ = std::move(outcome);
    ++done_;
    changed_.notify_all();
  }
}

void Queue::wait(uint64_t position) {
  std::unique_lock lock(mutex_);
  if (wanted_ < position) wanted_ = position;
  changed_.notify_all();
  changed_.wait(lock, [&] { return done_ >= position; });
}

bool Queue::is_done(uint64_t position) {
  const std::lock_guard lock(mutex_);
  // Asking is a sign of wanting: a program that polls must come to an end.
  if (wanted_ < position) wanted_ = position;
  changed_.notify_all();
  return done_ >= position;
}

uint64_t Queue::submitted() {
  const std::lock_guard lock(mutex_);
  return submitted_;
}

Outcome Queue::take_error() {
  if (*lost_) return lost_outcome();
  const std::lock_guard lock(mutex_);
  return std::exchange(error_, Outcome());
}

void Queue::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

hal::Status report(const Outcome& outcome, const char* where) {
  return outcome.code == FERRY_OK ? hal::Status()
                                  : hal::fail(outcome.code, where, outcome.text.c_str());
}

SimStream::~SimStream() { queue_->close(); }

hal::Status SimStream::synchronize() {
  queue_->wait(queue_->submitted());
  return report(queue_->take_error(), "stream");
}

hal::Status SimStream::wait(hal::Event& event) {
  const std::shared_ptr<Signal> signal = static_cast<SimEvent&>(event).signal();
  if (signal == nullptr || signal->queue == queue_) return {};
  queue_->submit([signal] {
    signal->queue->wait(signal->position);
    return Outcome();
  });
  return {};
}

hal::Status SimStream::host_function(void (*function)(void*), void* argument) {
  queue_->submit([=] {
    function(argument);
    return Outcome();
  });
  return {};
}

hal::Status SimEvent::record(hal::Stream& stream) {
  auto signal = std::make_shared<Signal>();
  signal->queue = static_cast<SimStream&>(stream).shared_queue();
  const std::weak_ptr<Signal> later = signal;
  signal->position = signal->queue->submit([later] {
    if (const auto recorded = later.lock()) recorded->time = std::chrono::steady_clock::now();
    return Outcome();
  });
  const std::lock_guard lock(mutex_);
  signal_ = std::move(signal);
  return {};
}

std::shared_ptr<Signal> SimEvent::signal() const {
  const std::lock_guard lock(mutex_);
  return signal_;
}

hal::Status SimEvent::synchronize() {
  const auto recorded = signal();
  if (recorded == nullptr) return {};
  recorded->queue->wait(recorded->position);
  return report(recorded->queue->take_error(), "event");
}

hal::Status SimEvent::query() {
  const auto recorded = signal();
  if (recorded == nullptr) return {};
  if (!recorded->queue->is_done(recorded->position)) return hal::Status(FERRY_NOT_READY);
  return report(recorded->queue->take_error(), "event");
}

hal::Status SimEvent::elapsed_since(hal::Event& begin, double* milliseconds) {
  const auto from = static_cast<SimEvent&>(begin).signal();
  const auto to = signal();
  if (from == nullptr || to == nullptr) {
    return hal::fail(FERRY_E_ARG, "event_elapsed", "an event was not recorded");
  }
  from->queue->wait(from->position);
  to->queue->wait(to->position);
  *milliseconds = std::chrono::duration<double, std::milli>(to->time - from->time).count();
  return {};
}

}  // namespace ferry::sim
