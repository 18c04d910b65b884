// SPDX-License-Identifier: Apache-2.0
//
// Submission: waits before the work, records after it.
#include "runtime/submission.h"

#include "runtime/watchdog.h"

namespace ferry::runtime {

Submission::Submission(DeviceState& device) : Submission(device, device.current_stream()) {}

Submission::Submission(DeviceState& device, StreamState& stream)
    : device_(device), stream_(stream) {
  device.require_usable();
}

void Submission::reads(detail::Storage& storage) {
  // A storage of another device, in a copy, is always recorded: its owner does
  // not see this stream.
  if (!device_.many_streams() && storage.device == &device_ && !storage.uses.any()) return;
  wait_for(storage, false);
  if (!device_.synchronous()) touched_.push_back({&storage, false});
}

void Submission::writes(detail::Storage& storage) {
  if (!device_.many_streams() && storage.device == &device_ && !storage.uses.any()) return;
  wait_for(storage, true);
  if (!device_.synchronous()) touched_.push_back({&storage, true});
}

void Submission::wait_for(detail::Storage& storage, bool written) {
  if (storage.uses.any()) {
    if (written) {
      for (const Use& use : storage.uses.pending()) stream_.wait_for(use);
    } else {
      stream_.wait_for(storage.uses.last_write());
    }
  } else if (storage.device == &device_ && device_.many_streams()) {
    stream_.wait_for(device_.before_many());
  } else if (storage.device != &device_ && !storage.device->synchronous()) {
    // Used without a record: on the one stream that its device has.
    StreamState& theirs = storage.device->default_stream();
    stream_.wait_for({&theirs, theirs.submitted()});
  }
}

void Submission::begin() {
  if (stream_.hal() != nullptr) lock_ = std::unique_lock(stream_.mutex());
}

Use Submission::end(const char* name) {
  if (stream_.hal() == nullptr) return {};
  const Use use{&stream_, stream_.submit()};
  if (watchdog_limit().count() > 0) stream_.name_work(use.ticket, name);
  lock_.unlock();
  for (const Touched& t : touched_) {
    if (t.written) {
      t.storage->uses.set_write(use);
    } else {
      t.storage->uses.add_read(use);
    }
  }
  return use;
}

}  // namespace ferry::runtime
