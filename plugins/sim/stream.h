// SPDX-License-Identifier: Apache-2.0
//
// Streams of a simulated device: queues that a thread of their own works off.
#ifndef FERRY_SIM_STREAM_H
#define FERRY_SIM_STREAM_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "ferry/hal/stream.h"

namespace ferry::sim {

/// What a piece of work had to say.
struct Outcome {
  ferry_rc code = FERRY_OK;
  std::string text;
};
using Work = std::function<Outcome()>;

class Queue;

/// Set once, when the device of a queue is lost.
using LostFlag = std::shared_ptr<std::atomic<bool>>;
/// What every call to a lost device says.
inline Outcome lost_outcome() { return {FERRY_E_LOST, "the device fell off the bus (simulated)"}; }

/// A point of a queue, once it is recorded.
struct Signal {
  std::shared_ptr<Queue> queue;
  uint64_t position = 0;
  std::chrono::steady_clock::time_point time;
};

/// The queue behind a stream; lives as long as someone waits for it.
class Queue : public std::enable_shared_from_this<Queue> {
 public:
  explicit Queue(LostFlag lost) : lost_(std::move(lost)) {}
  /// Work happens in order, on a thread that starts with the first piece.
  uint64_t submit(Work work);
  /// Blocks until `position` is done.
  void wait(uint64_t position);
  bool is_done(uint64_t position);
  uint64_t submitted();
  /// The first error since it was last taken; of a lost device, always that.
  Outcome take_error();
  /// Ends the thread, after all work. Nothing is submitted later.
  void close();

 private:
  void run();

  const LostFlag lost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> work_;
  std::thread thread_;
  uint64_t submitted_ = 0, done_ = 0, wanted_ = 0;
  bool closing_ = false;
  Outcome error_;
};

class SimStream final : public hal::Stream {
 public:
  explicit SimStream(LostFlag lost) : queue_(std::make_shared<Queue>(std::move(lost))) {}
  ~SimStream() override;
  Queue& queue() noexcept { return *queue_; }
  std::shared_ptr<Queue> shared_queue() const { return queue_; }

  hal::Status synchronize() override;
  hal::Status wait(hal::Event& event) override;
  hal::Status host_function(void (*function)(void*), void* argument) override;

 private:
  std::shared_ptr<Queue> queue_;
};

class SimEvent final : public hal::Event {
 public:
  hal::Status record(hal::Stream& stream) override;
  hal::Status synchronize() override;
  hal::Status query() override;
  hal::Status elapsed_since(hal::Event& begin, double* milliseconds) override;
  std::shared_ptr<Signal> signal() const;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Signal> signal_;
};

/// Turns an outcome into a status, its text going to the host.
hal::Status report(const Outcome& outcome, const char* where);

}  // namespace ferry::sim

#endif  // FERRY_SIM_STREAM_H
