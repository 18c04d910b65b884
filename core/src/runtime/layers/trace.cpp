// SPDX-License-Identifier: Apache-2.0
//
// The trace layer: what the host asked for and when the devices did it, as
// Chrome trace events.
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/host_services.h"
#include "runtime/layers/describe.h"
#include "runtime/layers/trace_file.h"

namespace ferry::runtime::layers {
namespace {

using hal::Status;
using nlohmann::ordered_json;

constexpr int kHostProcess = 1;
/// Work of a stream whose end is not known yet; more is timed by the host.
constexpr size_t kMostPending = 4096;
/// Vendors measure in float: times are counted from a point not long ago.
constexpr double kAnchorAge = 1e6;  // us

int thread_number() {
  static std::atomic<int> count{0};
  thread_local const int number = ++count;
  return number;
}

/// Asked all the time, and without effect.
bool is_shown(Function f) {
  return f != Function::kCount && f != Function::kInfo && f != Function::kCheck &&
         f != Function::kScratch && f != Function::kEventQuery && f != Function::kCanAccess &&
         f != Function::kNativeStream;
}

/// One piece of work that a device was given.
struct Work {
  ordered_json event;  // but for its time
  uint64_t serial = 0, bytes = 0;
  double host_began = 0, host_ended = 0;
  std::shared_ptr<hal::Event> begin, end;
};

/// What is known of one stream.
struct Track {
  bool timed = false;
  std::shared_ptr<hal::Event> anchor;  // happened at anchor_us
  double anchor_us = 0;
  uint64_t serial = 0;
  std::deque<Work> pending;
  std::vector<std::shared_ptr<hal::Event>> spare;
};

/// How much of a stream an event has behind it.
struct Recorded {
  StreamInfo* stream;
  uint64_t serial;
};

class TraceLayer final : public Layer {
 public:
  explicit TraceLayer(const std::string& file) : file_(file) { name_process(kHostProcess, "host"); }

  Status before(Call& call) override {
    call.began = now();
    if (is_work(call.function) && call.stream_info != nullptr) {
      call.begin_event = record_event(*call.stream_info, *call.device);
    }
    return Status();
  }

  Status after(Call& call, Status status) override {
    const double ended = now();
    if (call.function == Function::kOpen && status.ok()) add_device(*call.device);
    if (is_shown(call.function)) write_host(call, ended, status);
    if (call.function == Function::kStreamDestroy) forget(call.stream_info);
    if (call.function == Function::kEventDestroy) {
      const std::lock_guard lock(mutex_);
      recorded_.erase(call.event);
    }
    if (status.failed()) {
      // Its text is the caller's: nothing may be asked of the plugin before.
      return status;
    }
    if (call.function == Function::kStreamCreate) add_stream(*call.stream_info);
    if (is_work(call.function)) add_work(call, ended);
    if (call.function == Function::kEventRecord && call.stream_info != nullptr) {
      const std::lock_guard lock(mutex_);
      recorded_[call.event] = {call.stream_info, tracks_[call.stream_info].serial};
    }
    if (status.code() != FERRY_NOT_READY) settle_after(call);
    return status;
  }

  void on_block(const BlockEvent& event) override {
    int process = 0;
    {
      const std::lock_guard lock(mutex_);
      const auto found = devices_.find(event.device);
      if (found == devices_.end()) return;
      process = found->second;
    }
    file_.write({{"ph", "C"},
                 {"pid", process},
                 {"name", event.pinned ? "pinned memory" : "memory"},
                 {"ts", now()},
                 {"args", {{"allocated", event.allocated}, {"reserved", event.reserved}}}});
  }

  void at_exit() override {
    {
      const std::lock_guard lock(mutex_);
      for (auto& [stream, track] : tracks_) {
        // Its driver may be gone by now: nothing is asked any more.
        for (Work& work : track.pending) write_by_host(work);
        track.pending.clear();
      }
    }
    file_.close();
  }

 private:
  double now() const {
    return std::chrono::duration<double, std::micro>(Clock::now() - start_).count();
  }

  void name_process(int process, const std::string& name) {
    file_.write(
        {{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name}}}});
    file_.write({{"ph", "M"},
                 {"pid", process},
                 {"name", "process_sort_index"},
                 {"args", {{"sort_index", process}}}});
  }
  void name_track(int process, uint32_t track, const std::string& name) {
    file_.write({{"ph", "M"},
                 {"pid", process},
                 {"tid", track},
                 {"name", "thread_name"},
                 {"args", {{"name", name}}}});
  }

  int process_of(const DeviceInfo& device) {
    const std::lock_guard lock(mutex_);
    return devices_[device.name];
  }

  void add_device(const DeviceInfo& device) {
    int process = 0;
    {
      const std::lock_guard lock(mutex_);
      process = kHostProcess + 1 + static_cast<int>(devices_.size());
      devices_[device.name] = process;
    }
    const std::string name = device.info.name;
    name_process(process, name.empty() ? device.name : device.name + " (" + name + ")");
    name_track(process, 0, "without a stream");
  }

  void add_stream(StreamInfo& stream) {
    name_track(process_of(*stream.device), stream.number + 1,
               "stream " + std::to_string(stream.number));
    Track track;
    std::unique_ptr<hal::Event> anchor;
    double none = 0;
    if (stream.device->inner->create_event(&anchor).ok() && anchor->record(*stream.inner).ok() &&
        anchor->synchronize().ok()) {
      track.anchor_us = now();
      track.timed = anchor->elapsed_since(*anchor, &none).ok();
      track.anchor = std::move(anchor);
    }
    if (!track.timed) (void)take_failure();
    const std::lock_guard lock(mutex_);
    tracks_[&stream] = std::move(track);
  }

  void forget(StreamInfo* stream) {
    const std::lock_guard lock(mutex_);
    for (Work& work : tracks_[stream].pending) write_by_host(work);
    tracks_.erase(stream);
  }

  /// An event behind the work submitted so far; null where that cannot be timed.
  std::shared_ptr<hal::Event> record_event(StreamInfo& stream, DeviceInfo& device) {
    std::shared_ptr<hal::Event> event;
    {
      const std::lock_guard lock(mutex_);
      Track& track = tracks_[&stream];
      if (!track.timed || track.pending.size() >= kMostPending) return nullptr;
      if (!track.spare.empty()) {
        event = std::move(track.spare.back());
        track.spare.pop_back();
      }
    }
    if (event == nullptr) {
      std::unique_ptr<hal::Event> made;
      if (device.inner->create_event(&made).ok()) event = std::move(made);
    }
    if (event != nullptr && event->record(*stream.inner).ok()) return event;
    (void)take_failure();
    return nullptr;
  }

  void add_work(Call& call, double ended) {
    Work work;
    const bool kernel = call.function == Function::kLaunch;
    work.event = {{"ph", "X"},
                  {"pid", process_of(*call.device)},
                  {"tid", call.stream_info != nullptr ? call.stream_info->number + 1 : 0},
                  {"cat", kernel ? "kernel" : "copy"},
                  {"name", kernel ? op_of(*call.kernel, *call.launch) : name_of(call.function)}};
    ordered_json& args = work.event["args"];
    if (kernel) {
      args["kernel"] = call.kernel->traits().family;
      args["shapes"] = describe_launch(*call.kernel, *call.launch);
    } else {
      args["bytes"] = call.bytes;
      work.bytes = call.bytes;
    }
    work.host_began = call.began;
    work.host_ended = ended;
    work.begin = std::move(call.begin_event);
    if (work.begin != nullptr) work.end = record_event(*call.stream_info, *call.device);
    const std::lock_guard lock(mutex_);
    if (work.end == nullptr) return write_by_host(work);
    Track& track = tracks_[call.stream_info];
    work.serial = ++track.serial;
    track.pending.push_back(std::move(work));
  }

  /// Writes the work that is known to be done since `call`. Only what the runtime
  /// asked is used: a query of the trace's own could take an error away from it.
  void settle_after(const Call& call) {
    const std::lock_guard lock(mutex_);
    if (call.function == Function::kStreamSync) {
      settle(tracks_[call.stream_info], tracks_[call.stream_info].serial);
    } else if (call.function == Function::kEventSync || call.function == Function::kEventQuery) {
      const auto found = recorded_.find(call.event);
      if (found == recorded_.end() || tracks_.count(found->second.stream) == 0) return;
      settle(tracks_[found->second.stream], found->second.serial);
    }
  }

  void settle(Track& track, uint64_t serial) {
    while (!track.pending.empty() && track.pending.front().serial <= serial) {
      Work work = std::move(track.pending.front());
      track.pending.pop_front();
      double until_begin = 0, lasted = 0;
      if (!work.begin->elapsed_since(*track.anchor, &until_begin).ok() ||
          !work.end->elapsed_since(*work.begin, &lasted).ok()) {
        (void)take_failure();
        write_by_host(work);
        continue;
      }
      const double began = track.anchor_us + until_begin * 1e3;
      write_timed(work, began, lasted * 1e3, "events");
      if (until_begin * 1e3 > kAnchorAge) {
        track.anchor.swap(work.end);
        track.anchor_us = began + lasted * 1e3;
      }
      track.spare.push_back(std::move(work.begin));
      track.spare.push_back(std::move(work.end));
    }
  }

  void write_by_host(Work& work) {
    write_timed(work, work.host_began, work.host_ended - work.host_began, "host");
  }
  void write_timed(Work& work, double began, double lasted, const char* by) {
    work.event["ts"] = began;
    work.event["dur"] = lasted;
    ordered_json& args = work.event["args"];
    if (work.bytes > 0 && lasted > 0) {
      args["GB/s"] = static_cast<double>(work.bytes) / lasted / 1e3;
    }
    args["timed_by"] = by;
    file_.write(work.event);
  }

  void write_host(const Call& call, double ended, Status status) {
    thread_local bool named = false;
    const int thread = thread_number();
    if (!std::exchange(named, true)) {
      name_track(kHostProcess, static_cast<uint32_t>(thread), "thread " + std::to_string(thread));
    }
    ordered_json event = {{"ph", "X"},
                          {"pid", kHostProcess},
                          {"tid", thread},
                          {"cat", "host"},
                          {"name", name_of(call.function)},
                          {"ts", call.began},
                          {"dur", ended - call.began}};
    ordered_json args = ordered_json::object();
    if (call.function == Function::kLaunch) {
      event["name"] = "launch " + op_of(*call.kernel, *call.launch);
    }
    if (call.device != nullptr) args["device"] = call.device->name;
    if (call.stream_info != nullptr) args["stream"] = call.stream_info->number;
    if (call.bytes > 0) args["bytes"] = call.bytes;
    if (!status.ok()) args["code"] = status.code();
    event["args"] = std::move(args);
    file_.write(event);
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start_ = Clock::now();
  TraceFile file_;
  std::mutex mutex_;
  std::map<std::string, int, std::less<>> devices_;  // their process numbers
  std::map<StreamInfo*, Track> tracks_;
  std::map<EventInfo*, Recorded> recorded_;
};

}  // namespace

std::unique_ptr<Layer> make_trace_layer(const std::string& file) {
  return std::make_unique<TraceLayer>(file);
}

}  // namespace ferry::runtime::layers
