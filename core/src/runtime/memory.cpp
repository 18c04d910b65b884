// SPDX-License-Identifier: Apache-2.0
//
// The public questions about memory, and FERRY_MEMORY_LIMIT.
#include "ferry/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "runtime/device_state.h"
#include "runtime/host_services.h"

namespace ferry {

using runtime::DeviceState;

namespace {

std::string mib(uint64_t bytes) {
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / 1048576.0);
}

void add_row(std::string& out, const char* what, const std::string& now, const std::string& peak) {
  out += fmt::format("| {:<26} | {:>14} | {:>14} |\n", what, now, peak);
}

}  // namespace

MemoryInfo mem_get_info(const Device& device) {
  DeviceState& state = DeviceState::get(device);
  MemoryInfo out;
  const hal::Status status = state.hal().memory_info(&out.free, &out.total);
  if (status.code() == FERRY_E_MISSING) {
    // The driver cannot tell: what this process does not hold.
    (void)runtime::take_failure();
    const uint64_t total = state.info().memory_total;
    const uint64_t held = state.allocator().reserved();
    return {total > held ? total - held : 0, total};
  }
  state.check(status, "mem_get_info");
  return out;
}

uint64_t memory_allocated(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().allocated() : 0;
}
uint64_t memory_reserved(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().reserved() : 0;
}
uint64_t max_memory_allocated(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().peak() : 0;
}
void reset_peak_memory_stats(const Device& device) {
  if (DeviceState* state = DeviceState::peek(device)) state->allocator().reset_peak();
}

MemoryStats memory_stats(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().stats() : MemoryStats{};
}

MemoryStats pinned_memory_stats(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->pinned().stats() : MemoryStats{};
}

std::string memory_summary(const Device& device) {
  const MemoryStats s = memory_stats(device);
  const std::string line = fmt::format("|{:-<28}|{:-<16}|{:-<16}|\n", "", "", "");
  std::string out = fmt::format("Memory of {}\n", device.str());
  add_row(out, "", "now", "peak");
  out += line;
  add_row(out, "in tensors", mib(s.allocated), mib(s.peak_allocated));
  add_row(out, "obtained from the driver", mib(s.reserved), mib(s.peak_reserved));
  add_row(out, "cached for reuse", mib(s.reserved - std::min(s.reserved, s.allocated)), "");
  add_row(out, "largest cached block", mib(s.largest_free), "");
  add_row(out, "limit", s.limit == 0 ? "none" : mib(s.limit), "");
  add_row(out, "segments", std::to_string(s.segments), "");
  out += line;
  add_row(out, "allocations", std::to_string(s.allocations), "");
  add_row(out, "of them from the driver", std::to_string(s.driver_allocations), "");
  add_row(out, "given back to the driver", std::to_string(s.driver_frees), "");
  add_row(out, "cache given back for room", std::to_string(s.retries), "");
  add_row(out, "out of memory", std::to_string(s.out_of_memory), "");
  return out;
}

std::vector<MemorySegment> memory_snapshot(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().snapshot() : std::vector<MemorySegment>();
}

void set_memory_limit(const Device& device, uint64_t bytes) {
  DeviceState::get(device).allocator().set_limit(bytes);
}

void empty_cache(const Device& device) {
  if (DeviceState* state = DeviceState::peek(device)) {
    state->allocator().empty_cache();
    state->pinned().empty_cache();
  }
}
void empty_cache() {
  for (DeviceState* state : DeviceState::all()) {
    state->allocator().empty_cache();
    state->pinned().empty_cache();
  }
}
void synchronize(const Device& device) {
  if (DeviceState* state = DeviceState::peek(device)) state->synchronize();
}
FallbackStats fallback_stats(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->fallback_stats() : FallbackStats{};
}

}  // namespace ferry
