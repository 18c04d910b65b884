// SPDX-License-Identifier: Apache-2.0
//
// Use: a piece of work of a stream that touches some memory, and the list of
// them that a storage or a free block carries.
#ifndef FERRY_RUNTIME_USE_H
#define FERRY_RUNTIME_USE_H

#include <atomic>
#include <cstdint>
#include <vector>

namespace ferry::runtime {

class StreamState;

/// Done when the stream has done `ticket` pieces of work.
struct Use {
  StreamState* stream = nullptr;
  uint64_t ticket = 0;

  /// Whether it is known to be done. Asks no device.
  bool done() const noexcept;
  /// Blocks the calling thread until it is done. Throws the stream's error.
  void wait() const;
};

/// At most one entry a stream: the latest.
void add_use(std::vector<Use>& uses, const Use& use);

/// Who writes and reads a storage. Empty, at the cost of one load, for as long
/// as a device has one stream and no copy is under way.
class UseRecord {
 public:
  /// Whether there is anything to wait for.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  void add_read(const Use& use);
  /// A write comes after all earlier uses, which it replaces.
  void set_write(const Use& use);
  Use last_write() const;
  /// All that are not known to be done.
  std::vector<Use> pending() const;

 private:
  class Lock;
  mutable std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> any_{false};
  Use write_;
  std::vector<Use> reads_;
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_USE_H
