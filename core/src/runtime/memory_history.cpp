// SPDX-License-Identifier: Apache-2.0
//
// The memory history: a ring of events, and the file that `ferry memory` draws.
#include "runtime/memory_history.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/error.h"
#include "runtime/device_state.h"
#include "runtime/environment.h"
#include "runtime/log.h"

namespace ferry {

namespace runtime {

std::atomic<bool> memory_history_on{false};

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr size_t kMostEvents = 200000;

struct History {
  std::mutex mutex;
  std::deque<MemoryEvent> events;
  uint64_t dropped = 0;
  Clock::time_point begin;
  bool recording = false;
  std::atomic<MemoryListener> listener{nullptr};
};

/// Never destroyed: tensors may be freed by static destructors.
History& the_history() {
  static auto* const object = new History();
  return *object;
}

/// What FERRY_MEMORY_HISTORY asks for; leaked as the history is.
struct AtExit {
  std::string file;
  pid_t process = 0;
};
AtExit& at_exit() {
  static auto* const object = new AtExit();
  return *object;
}

void save_at_exit() {
  if (getpid() != at_exit().process) return;  // a forked child has no history of its own
  try {
    save_memory_history(at_exit().file);
  } catch (const std::exception& e) {
    log(LogLevel::kError, "memory", e.what());
  }
}

const char* kind_name(MemoryEvent::Kind kind) {
  switch (kind) {
    case MemoryEvent::Kind::kAllocate:
      return "allocate";
    case MemoryEvent::Kind::kFree:
      return "free";
    case MemoryEvent::Kind::kSegmentObtained:
      return "segment_obtained";
    case MemoryEvent::Kind::kSegmentReleased:
      return "segment_released";
    case MemoryEvent::Kind::kOutOfMemory:
      return "out_of_memory";
  }
  return "unknown";
}

ordered_json to_json(const MemoryEvent& e) {
  return {{"kind", kind_name(e.kind)}, {"us", e.microseconds}, {"device", e.device.str()},
          {"pinned", e.pinned},        {"segment", e.segment}, {"offset", e.offset},
          {"bytes", e.bytes},          {"stream", e.stream},   {"allocated", e.allocated},
          {"reserved", e.reserved}};
}

ordered_json to_json(const MemoryStats& s) {
  return {{"allocated", s.allocated},
          {"peak_allocated", s.peak_allocated},
          {"reserved", s.reserved},
          {"peak_reserved", s.peak_reserved},
          {"limit", s.limit},
          {"allocations", s.allocations},
          {"driver_allocations", s.driver_allocations},
          {"driver_frees", s.driver_frees},
          {"retries", s.retries},
          {"out_of_memory", s.out_of_memory}};
}

ordered_json snapshot_of(CachingAllocator& allocator, const Device& device, bool pinned) {
  ordered_json segments = ordered_json::array();
  for (const MemorySegment& segment : allocator.snapshot()) {
    ordered_json blocks = ordered_json::array();
    for (const MemorySegment::Piece& b : segment.blocks) {
      blocks.push_back({{"offset", b.offset}, {"bytes", b.bytes}, {"in_use", b.in_use}});
    }
    segments.push_back(
        {{"address", segment.address}, {"bytes", segment.bytes}, {"blocks", std::move(blocks)}});
  }
  return {{"device", device.str()},
          {"pinned", pinned},
          {"total", pinned ? 0 : allocator.device().info().memory_total},
          {"stats", to_json(allocator.stats())},
          {"segments", std::move(segments)}};
}

}  // namespace

void record_memory_event(MemoryEvent event) noexcept {
  History& history = the_history();
  if (const MemoryListener listener = history.listener.load(std::memory_order_acquire)) {
    listener(event);
  }
  const std::lock_guard lock(history.mutex);
  if (!history.recording) return;
  // Under the lock, so that times rise from event to event.
  event.microseconds =
      std::chrono::duration<double, std::micro>(Clock::now() - history.begin).count();
  try {
    if (history.events.size() >= kMostEvents) {
      history.events.pop_front();
      ++history.dropped;
    }
    history.events.push_back(event);
  } catch (const std::bad_alloc&) {
    ++history.dropped;
  }
}

void set_memory_listener(MemoryListener listener) {
  the_history().listener.store(listener, std::memory_order_release);
  memory_history_on.store(true, std::memory_order_relaxed);
}

void start_memory_history_from_environment() {
  const auto file = environment_variable("FERRY_MEMORY_HISTORY");
  if (!file || file->empty()) return;
  at_exit() = {*file, getpid()};
  record_memory_history(true);
  std::atexit(&save_at_exit);
}

}  // namespace runtime

void record_memory_history(bool on) {
  runtime::History& history = runtime::the_history();
  const std::lock_guard lock(history.mutex);
  if (on) {
    history.events.clear();
    history.dropped = 0;
    history.begin = runtime::Clock::now();
  }
  history.recording = on;
  const bool heard = history.listener.load(std::memory_order_acquire) != nullptr;
  runtime::memory_history_on.store(on || heard, std::memory_order_relaxed);
}

std::vector<MemoryEvent> memory_history() {
  runtime::History& history = runtime::the_history();
  const std::lock_guard lock(history.mutex);
  return {history.events.begin(), history.events.end()};
}

void save_memory_history(const std::string& file) {
  using runtime::DeviceState;
  nlohmann::ordered_json json{{"format", "ferry-memory/1"}};
  json["devices"] = nlohmann::ordered_json::array();
  for (DeviceState* state : DeviceState::all()) {
    json["devices"].push_back(runtime::snapshot_of(state->allocator(), state->device(), false));
    if (state->pinned().reserved() == 0 && state->pinned().peak() == 0) continue;
    json["devices"].push_back(runtime::snapshot_of(state->pinned(), state->device(), true));
  }
  json["events"] = nlohmann::ordered_json::array();
  for (const MemoryEvent& event : memory_history())
    json["events"].push_back(runtime::to_json(event));
  {
    runtime::History& history = runtime::the_history();
    const std::lock_guard lock(history.mutex);
    json["dropped"] = history.dropped;
  }
  std::ofstream out(file, std::ios::binary);
  out << json.dump() << '\n';
  out.close();
  if (!out) {
    throw FileError("save_memory_history",
                    "cannot write '" + file + "': does its folder exist, and is there room?");
  }
}

}  // namespace ferry
