// SPDX-License-Identifier: Apache-2.0
//
// DeviceState: opening devices on first use, and the public questions about
// their memory.
#include "runtime/device_state.h"

#include <cstring>
#include <string>

#include "ferry/error.h"
#include "runtime/host_services.h"
#include "runtime/registry.h"

namespace ferry::runtime {
namespace {

constexpr const char* kFamilyNames[kFamilyCount] = {FERRY_FAMILY_MAP,    FERRY_FAMILY_REDUCE,
                                                    FERRY_FAMILY_MATMUL, FERRY_FAMILY_CONV,
                                                    FERRY_FAMILY_POOL,   FERRY_FAMILY_GATHER};

constexpr int kMaxBackends = 64;
constexpr int kMaxDevices = 64;

/// One slot a device, filled once.
struct Slots {
  std::atomic<DeviceState*> state[kMaxBackends][kMaxDevices]{};
  std::mutex opening;
};
Slots& slots() {
  static Slots* const table = new Slots();
  return *table;
}

}  // namespace

const char* family_name(Family family) noexcept {
  return kFamilyNames[static_cast<size_t>(family)];
}

DeviceState::DeviceState(const Device& device, const ferry_device_info& info,
                         std::unique_ptr<hal::Device> hal,
                         std::span<const hal::Kernel* const> kernels)
    : device_(device), info_(info), hal_(std::move(hal)) {
  constexpr uint32_t kHost = FERRY_CAP_HANDLE_IS_ADDRESS | FERRY_CAP_HOST_ACCESSIBLE;
  host_accessible_ = (info_.caps & kHost) == kHost;
  const hal::Status status = hal_->create_stream(0, &stream_);
  if (status.code() != FERRY_E_MISSING) check(status, "stream_create");
  (void)take_failure();
  for (const hal::Kernel* kernel : kernels) {
    for (int f = 0; f < kFamilyCount; ++f) {
      if (std::strcmp(kernel->traits().family, kFamilyNames[f]) == 0) {
        kernels_[f].push_back(kernel);
      }
    }
  }
}

DeviceState* DeviceState::peek(const Device& device) noexcept {
  if (device.backend_id() >= kMaxBackends || device.index() >= kMaxDevices) return nullptr;
  return slots().state[device.backend_id()][device.index()].load(std::memory_order_acquire);
}

DeviceState& DeviceState::get(const Device& device) {
  if (DeviceState* state = peek(device)) return *state;
  Registry& registry = Registry::get();
  const auto id = static_cast<size_t>(device.backend_id());
  if (id >= registry.backends().size() || id >= kMaxBackends || device.index() >= kMaxDevices ||
      static_cast<size_t>(device.index()) >= registry.backends()[id]->infos.size()) {
    throw UnavailableError("device", registry.explain_absence(device.type()));
  }
  const BackendEntry& entry = *registry.backends()[id];
  const std::lock_guard lock(slots().opening);
  if (DeviceState* state = peek(device)) return *state;
  std::unique_ptr<hal::Device> opened;
  const auto index = static_cast<uint32_t>(device.index());
  runtime::check(entry.backend->open(index, &opened), ("open " + device.str()).c_str());
  auto* state =
      new DeviceState(device, entry.infos[index], std::move(opened), entry.backend->kernels());
  slots().state[id][index].store(state, std::memory_order_release);
  return *state;
}

std::vector<DeviceState*> DeviceState::all() {
  std::vector<DeviceState*> out;
  for (auto& backend : slots().state) {
    for (auto& slot : backend) {
      if (DeviceState* state = slot.load(std::memory_order_acquire)) out.push_back(state);
    }
  }
  return out;
}

void DeviceState::synchronize() {
  const std::lock_guard lock(stream_mutex_);
  check(stream_ ? stream_->synchronize() : hal_->synchronize(), "synchronize");
}

void DeviceState::throw_failed(hal::Status status, const char* where) const {
  throw_status(status, (std::string(where) + " on " + device_.str()).c_str());
}

}  // namespace ferry::runtime

namespace ferry {

using runtime::DeviceState;

MemoryInfo mem_get_info(const Device& device) {
  DeviceState& state = DeviceState::get(device);
  MemoryInfo out;
  const hal::Status status = state.hal().memory_info(&out.free, &out.total);
  if (status.code() == FERRY_E_MISSING) {
    // The driver cannot tell: what this process does not hold.
    (void)runtime::take_failure();
    const uint64_t total = state.info().memory_total;
    const uint64_t held = state.allocator().counters().reserved;
    return {total > held ? total - held : 0, total};
  }
  state.check(status, "mem_get_info");
  return out;
}

uint64_t memory_allocated(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().counters().allocated : 0;
}
uint64_t memory_reserved(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().counters().reserved : 0;
}
uint64_t max_memory_allocated(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->allocator().counters().peak : 0;
}
void reset_peak_memory_stats(const Device& device) {
  if (DeviceState* state = DeviceState::peek(device)) state->allocator().reset_peak();
}
void empty_cache(const Device& device) {
  if (DeviceState* state = DeviceState::peek(device)) state->allocator().empty_cache();
}
void empty_cache() {
  for (DeviceState* state : DeviceState::all()) state->allocator().empty_cache();
}
void synchronize(const Device& device) {
  if (DeviceState* state = DeviceState::peek(device)) state->synchronize();
}
FallbackStats fallback_stats(const Device& device) {
  DeviceState* state = DeviceState::peek(device);
  return state != nullptr ? state->fallback_stats() : FallbackStats{};
}

}  // namespace ferry
