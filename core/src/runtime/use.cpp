// SPDX-License-Identifier: Apache-2.0
//
// Use and UseRecord.
#include "runtime/use.h"

#include "runtime/stream_state.h"

namespace ferry::runtime {

/// Held for a few instructions only.
class UseRecord::Lock {
 public:
  explicit Lock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) flag_.wait(true);
  }
  ~Lock() {
    flag_.clear(std::memory_order_release);
    flag_.notify_one();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& flag_;
};

bool Use::done() const noexcept { return stream == nullptr || stream->done() >= ticket; }

void Use::wait() const {
  if (!done()) stream->wait(ticket);
}

void add_use(std::vector<Use>& uses, const Use& use) {
  if (use.stream == nullptr) return;
  for (Use& known : uses) {
    if (known.stream == use.stream) {
      if (known.ticket < use.ticket) known.ticket = use.ticket;
      return;
    }
  }
  uses.push_back(use);
}

void UseRecord::add_read(const Use& use) {
  const Lock lock(busy_);
  std::erase_if(reads_, [](const Use& u) { return u.done(); });
  add_use(reads_, use);
  any_.store(true, std::memory_order_release);
}

void UseRecord::set_write(const Use& use) {
  const Lock lock(busy_);
  reads_.clear();
  write_ = use;
  any_.store(true, std::memory_order_release);
}

Use UseRecord::last_write() const {
  const Lock lock(busy_);
  return write_;
}

std::vector<Use> UseRecord::pending() const {
  const Lock lock(busy_);
  std::vector<Use> out;
  if (!write_.done()) out.push_back(write_);
  for (const Use& use : reads_) {
    if (!use.done()) add_use(out, use);
  }
  return out;
}

}  // namespace ferry::runtime
