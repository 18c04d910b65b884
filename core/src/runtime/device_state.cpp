// SPDX-License-Identifier: Apache-2.0
//
// DeviceState: opening devices on first use, their streams and events, and
// what becomes of them when they are lost or the process forks.
#include "runtime/device_state.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "ferry/error.h"
#include "runtime/host_services.h"
#include "runtime/log.h"
#include "runtime/memory_history.h"
#include "runtime/memory_limit.h"
#include "runtime/registry.h"

namespace ferry::runtime {
namespace {

constexpr const char* kFamilyNames[kFamilyCount] = {
    FERRY_FAMILY_MAP,     FERRY_FAMILY_REDUCE, FERRY_FAMILY_MATMUL,  FERRY_FAMILY_CONV,
    FERRY_FAMILY_POOL,    FERRY_FAMILY_GATHER, FERRY_FAMILY_SOFTMAX, FERRY_FAMILY_LAYER_NORM,
    FERRY_FAMILY_SCATTER, FERRY_FAMILY_SORT,   FERRY_FAMILY_SCAN,    FERRY_FAMILY_ATTENTION,
    FERRY_FAMILY_ROPE};

constexpr int kMaxBackends = 64;
constexpr int kMaxDevices = 64;

/// One slot a device, filled once.
struct Slots {
  std::atomic<DeviceState*> state[kMaxBackends][kMaxDevices]{};
  std::mutex opening;
  size_t opened = 0;
};
Slots& slots() {
  static Slots* const table = new Slots();
  return *table;
}

/// The calling thread's stream of each device, by ordinal; null: the default.
/// Plain pointers, so that nothing has to be destroyed with the thread.
constexpr size_t kThreadSlots = 64;
thread_local std::array<StreamState*, kThreadSlots> thread_streams{};

/// The plugin says that a device is lost, on any thread.
void on_device_lost(ferry_device handle, const char* reason) {
  for (DeviceState* state : DeviceState::all()) {
    if (state->hal().handle() == handle) state->declare_lost(reason);
  }
}

}  // namespace

const char* family_name(Family family) noexcept {
  return kFamilyNames[static_cast<size_t>(family)];
}

DeviceState::DeviceState(const Device& device, const ferry_device_info& info, size_t ordinal,
                         std::unique_ptr<hal::Device> hal,
                         std::span<const hal::Kernel* const> kernels)
    : device_(device),
      info_(info),
      ordinal_(ordinal),
      hal_(std::move(hal)),
      allocator_(*this, hal::Space::kDevice),
      pinned_(*this, hal::Space::kPinned) {
  constexpr uint32_t kHost = FERRY_CAP_HANDLE_IS_ADDRESS | FERRY_CAP_HOST_ACCESSIBLE;
  host_accessible_ = (info_.caps & kHost) == kHost;
  std::unique_ptr<hal::Stream> stream;
  const hal::Status status = hal_->create_stream(0, &stream);
  if (status.code() != FERRY_E_MISSING) check(status, "stream_create");
  (void)take_failure();
  streams_.push_back(std::make_unique<StreamState>(*this, 0, 0, std::move(stream)));
  default_stream_ = streams_[0].get();
  for (const hal::Kernel* kernel : kernels) {
    const auto* const known = std::find_if(
        std::begin(kFamilyNames), std::end(kFamilyNames),
        [&](const char* name) { return std::strcmp(kernel->traits().family, name) == 0; });
    auto& list = known != std::end(kFamilyNames) ? kernels_[known - kFamilyNames] : other_kernels_;
    list.push_back(kernel);
  }
}

DeviceState* DeviceState::peek(const Device& device) noexcept {
  if (device.backend_id() >= kMaxBackends || device.index() >= kMaxDevices) return nullptr;
  return slots().state[device.backend_id()][device.index()].load(std::memory_order_acquire);
}

DeviceState& DeviceState::get(const Device& device) {
  DeviceState* state = peek(device);
  if (state == nullptr) return open(device);
  state->require_usable();
  return *state;
}

DeviceState& DeviceState::open(const Device& device) {
  Registry& registry = Registry::get();
  const auto id = static_cast<size_t>(device.backend_id());
  if (id >= registry.backends().size() || id >= kMaxBackends || device.index() >= kMaxDevices ||
      static_cast<size_t>(device.index()) >= registry.backends()[id]->infos.size()) {
    throw UnavailableError("device", registry.explain_absence(device.type()));
  }
  const BackendEntry& entry = *registry.backends()[id];
  const std::lock_guard lock(slots().opening);
  if (DeviceState* state = peek(device)) return *state;
  if (slots().opened == 0) {
    set_device_lost_handler(&on_device_lost);
    pthread_atfork(nullptr, nullptr, &DeviceState::mark_forked);
    start_memory_history_from_environment();
  }
  std::unique_ptr<hal::Device> opened;
  const auto index = static_cast<uint32_t>(device.index());
  runtime::check(entry.backend->open(index, &opened), ("open " + device.str()).c_str());
  const uint64_t limit = memory_limit_from_environment(device);
  auto* state = new DeviceState(device, entry.infos[index], slots().opened, std::move(opened),
                                entry.backend->kernels());
  state->allocator().set_limit(limit);
  ++slots().opened;
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

StreamState& DeviceState::chosen_stream() const noexcept {
  StreamState* chosen = ordinal_ < kThreadSlots ? thread_streams[ordinal_] : nullptr;
  return chosen != nullptr ? *chosen : *default_stream_;
}

void DeviceState::set_current_stream(StreamState& stream) {
  if (ordinal_ >= kThreadSlots) {
    throw UnsupportedError("set_stream", "more than " + std::to_string(kThreadSlots) +
                                             " devices are open: only the first have streams "
                                             "besides the default one");
  }
  thread_streams[ordinal_] = &stream;
}

StreamState& DeviceState::acquire_stream(int priority) {
  require_usable();
  const std::lock_guard lock(streams_mutex_);
  const auto known = std::find_if(free_streams_.begin(), free_streams_.end(),
                                  [&](StreamState* s) { return s->priority() == priority; });
  if (known != free_streams_.end()) {
    StreamState& stream = **known;
    free_streams_.erase(known);
    return stream;
  }
  std::unique_ptr<hal::Stream> created;
  if (!synchronous()) check(hal_->create_stream(priority, &created), "stream_create");
  free_streams_.reserve(streams_.size() + 1);  // so that giving back cannot fail
  streams_.push_back(
      std::make_unique<StreamState>(*this, streams_.size(), priority, std::move(created)));
  if (!many_streams()) {
    // Under the default stream's lock: a launch is before this or records its use.
    const std::lock_guard order(default_stream_->mutex());
    flip_ticket_.store(default_stream_->submitted());
    many_streams_.store(true, std::memory_order_release);
  }
  return *streams_.back();
}

void DeviceState::release_stream(StreamState& stream) noexcept {
  const std::lock_guard lock(streams_mutex_);
  free_streams_.push_back(&stream);
}

std::vector<StreamState*> DeviceState::streams() {
  const std::lock_guard lock(streams_mutex_);
  std::vector<StreamState*> out;
  for (const auto& stream : streams_) out.push_back(stream.get());
  return out;
}

std::unique_ptr<hal::Event> DeviceState::take_event() {
  {
    const std::lock_guard lock(events_mutex_);
    if (!has_events_) return nullptr;
    for (size_t i = events_.size(); i-- > 0;) {
      if (!events_[i].until.done()) continue;
      std::unique_ptr<hal::Event> event = std::move(events_[i].event);
      events_[i] = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  std::unique_ptr<hal::Event> event;
  const hal::Status status = hal_->create_event(&event);
  if (status.code() != FERRY_E_MISSING) {
    check(status, "event_create");
    return event;
  }
  (void)take_failure();
  const std::lock_guard lock(events_mutex_);
  has_events_ = false;
  return nullptr;
}

void DeviceState::give_event(std::unique_ptr<hal::Event> event, const Use& until) noexcept {
  if (event == nullptr) return;
  const std::lock_guard lock(events_mutex_);
  try {
    events_.push_back({std::move(event), until});
  } catch (const std::bad_alloc&) {
    // The event is destroyed instead, which a plugin allows at any time.
  }
}

void DeviceState::synchronize() {
  require_usable();
  for (StreamState* stream : streams()) stream->synchronize();
}

void DeviceState::declare_lost(const std::string& reason) noexcept {
  try {
    const std::lock_guard lock(lost_mutex_);
    if (!usable()) return;
    lost_reason_ = reason;
  } catch (const std::bad_alloc&) {
    // Lost without a reason is better than not at all.
  }
  broken_.store(true, std::memory_order_release);
  log(LogLevel::kError, "device", device_.str() + " is lost: " + reason);
}

void DeviceState::mark_forked() noexcept {
  for (auto& backend : slots().state) {
    for (auto& slot : backend) {
      DeviceState* state = slot.load(std::memory_order_relaxed);
      if (state == nullptr) continue;
      state->forked_.store(true, std::memory_order_relaxed);
      state->broken_.store(true, std::memory_order_release);
    }
  }
}

void DeviceState::throw_unusable() const {
  if (forked_.load(std::memory_order_relaxed)) {
    throw UnavailableError("device", device_.str() +
                                         " was opened before this process was forked and cannot "
                                         "be used here. Fork before the first use of a device, or "
                                         "start a new program with exec");
  }
  const std::lock_guard lock(lost_mutex_);
  throw DeviceLostError("device", device_.str() + " is lost: " + lost_reason_ +
                                      ". Other devices go on; restart the program to use it again");
}

void DeviceState::throw_failed(hal::Status status, const char* where) {
  const std::string place = std::string(where) + " on " + device_.str();
  if (status.code() != FERRY_E_LOST) throw_status(status, place.c_str());
  std::string reason = take_failure();
  declare_lost(reason.empty() ? place : reason);
  throw_unusable();
}

}  // namespace ferry::runtime
