// SPDX-License-Identifier: Apache-2.0
//
// Copies and the order of a simulated device's work.
#include "device.h"

#include <chrono>
#include <cstring>
#include <set>
#include <utility>

#include "faults.h"

namespace ferry::sim {

namespace {

struct OpenDevices {
  std::mutex mutex;
  std::set<SimDevice*> devices;
};
OpenDevices& open_devices() {
  static auto* const object = new OpenDevices();
  return *object;
}

}  // namespace

void quiesce_devices() {
  const std::lock_guard lock(open_devices().mutex);
  for (SimDevice* device : open_devices().devices) device->quiesce();
}

SimDevice::SimDevice(uint32_t index)
    : name_("sim:" + std::to_string(index)), memory_(name_, options()) {
  const std::lock_guard lock(open_devices().mutex);
  open_devices().devices.insert(this);
}

SimDevice::~SimDevice() {
  const std::lock_guard lock(open_devices().mutex);
  open_devices().devices.erase(this);
}

hal::Status SimDevice::require_present(const char* where) {
  return *lost_ ? report(lost_outcome(), where) : hal::Status();
}

hal::Status SimDevice::run(hal::Stream* stream, const char* where, Work work) {
  if (is_due(Fault::kLost)) {
    *lost_ = true;
    memory_.lose();
  }
  if (const hal::Status status = require_present(where); !status.ok()) return status;
  if (stream != nullptr) {
    static_cast<SimStream*>(stream)->queue().submit(std::move(work));
    return {};
  }
  const hal::Status earlier = synchronize();
  if (!earlier.ok()) return earlier;
  pause_before_work();
  return report(work(), where);
}

Outcome SimDevice::copy_now(char* dst, const char* src, uint64_t bytes) {
  if (is_due(Fault::kCopy)) return {FERRY_E_DEVICE, "a copy failed (simulated)"};
  const auto start = std::chrono::steady_clock::now();
  std::memcpy(dst, src, bytes);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  pause_for_copy(bytes, spent.count());
  return {};
}

hal::Status SimDevice::copy_from_host(hal::Stream* stream, ferry_location dst, const void* src,
                                      uint64_t bytes) {
  return run(stream, "h2d", [=, this]() -> Outcome {
    std::string why;
    char* to = memory_.find(dst, bytes, &why);
    if (to == nullptr) return {FERRY_E_DEVICE, why};
    return copy_now(to, static_cast<const char*>(src), bytes);
  });
}

hal::Status SimDevice::copy_to_host(hal::Stream* stream, void* dst, ferry_location src,
                                    uint64_t bytes) {
  return run(stream, "d2h", [=, this]() -> Outcome {
    std::string why;
    const char* from = memory_.find(src, bytes, &why);
    if (from == nullptr) return {FERRY_E_DEVICE, why};
    return copy_now(static_cast<char*>(dst), from, bytes);
  });
}

hal::Status SimDevice::copy(hal::Stream* stream, ferry_location dst, ferry_location src,
                            uint64_t bytes) {
  return run(stream, "d2d", [=, this]() -> Outcome {
    std::string why;
    char* to = memory_.find(dst, bytes, &why);
    const char* from = to == nullptr ? nullptr : memory_.find(src, bytes, &why);
    if (from == nullptr) return {FERRY_E_DEVICE, why};
    if (to < from + bytes && from < to + bytes) return {FERRY_E_ARG, "the ranges overlap"};
    return copy_now(to, from, bytes);
  });
}

hal::Status SimDevice::fill(hal::Stream* stream, ferry_location dst, uint8_t value,
                            uint64_t bytes) {
  return run(stream, "fill", [=, this]() -> Outcome {
    std::string why;
    char* to = memory_.find(dst, bytes, &why);
    if (to == nullptr) return {FERRY_E_DEVICE, why};
    std::memset(to, value, bytes);
    return {};
  });
}

hal::Status SimDevice::copy_from_peer(hal::Stream* stream, ferry_location dst, hal::Device& source,
                                      ferry_location src, uint64_t bytes) {
  if (options().peer == PeerMode::kOff) {
    return hal::fail(FERRY_E_MISSING, "peer_copy", "FERRY_SIM_PEER=off");
  }
  auto* peer = static_cast<SimDevice*>(&source);
  if (stream == nullptr) peer->wait_idle();  // its errors are for its own waits
  return run(stream, "peer_copy", [=, this]() -> Outcome {
    std::string why;
    char* to = memory_.find(dst, bytes, &why);
    const char* from = to == nullptr ? nullptr : peer->memory_.find(src, bytes, &why);
    if (from == nullptr) return {FERRY_E_DEVICE, why};
    if (options().peer == PeerMode::kLie) return {};
    return copy_now(to, from, bytes);
  });
}

std::vector<std::shared_ptr<Queue>> SimDevice::wait_idle() {
  std::vector<std::shared_ptr<Queue>> out;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [&](const std::weak_ptr<Queue>& weak) {
      auto queue = weak.lock();
      if (queue == nullptr) return true;
      out.push_back(std::move(queue));
      return false;
    });
  }
  for (const auto& queue : out) queue->wait(queue->submitted());
  return out;
}

hal::Status SimDevice::synchronize() {
  Outcome first;
  for (const auto& queue : wait_idle()) {
    Outcome outcome = queue->take_error();
    if (first.code == FERRY_OK) first = std::move(outcome);
  }
  if (const hal::Status status = require_present("sync"); !status.ok()) return status;
  return report(first, "sync");
}

void SimDevice::quiesce() {
  for (const auto& queue : wait_idle()) queue->close();
}

hal::Status SimDevice::create_stream(int32_t, std::unique_ptr<hal::Stream>* stream) {
  if (const hal::Status status = require_present("stream_create"); !status.ok()) return status;
  auto made = std::make_unique<SimStream>(lost_);
  const std::lock_guard lock(mutex_);
  queues_.push_back(made->shared_queue());
  *stream = std::move(made);
  return {};
}

hal::Status SimDevice::create_event(std::unique_ptr<hal::Event>* event) {
  *event = std::make_unique<SimEvent>();
  return {};
}

hal::Status SimDevice::memory_info(uint64_t* free_bytes, uint64_t* total_bytes) {
  if (const hal::Status status = require_present("memory_info"); !status.ok()) return status;
  *free_bytes = memory_.free_bytes();
  *total_bytes = memory_.total_bytes();
  return {};
}

}  // namespace ferry::sim
