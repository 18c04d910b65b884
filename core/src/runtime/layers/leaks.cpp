// SPDX-License-Identifier: Apache-2.0
//
// The leaks layer: remembers where each block of memory was asked for, and says
// at the end of the process which ones are still alive.
#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/layers/describe.h"
#include "runtime/log.h"

namespace ferry::runtime::layers {
namespace {

/// Lines for one memory; the rest is added up.
constexpr size_t kMostPlaces = 20;

class LeaksLayer final : public Layer {
 public:
  void on_block(const BlockEvent& event) override {
    const Key key{event.device, event.pinned, event.segment, event.offset};
    if (event.kind == BlockEvent::Kind::kFree) {
      const std::lock_guard lock(mutex_);
      alive_.erase(key);
    } else if (event.kind == BlockEvent::Kind::kAllocate) {
      const Origin origin = Origin::here();
      const std::lock_guard lock(mutex_);
      alive_[key] = {event.bytes, origin};
    }
  }

  void at_exit() override {
    std::map<std::pair<std::string, bool>, std::map<Origin, Sum>> memories;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, block] : alive_) {
        Sum& sum = memories[{std::get<0>(key), std::get<1>(key)}][block.origin];
        ++sum.count;
        sum.bytes += block.bytes;
      }
    }
    if (memories.empty()) {
      log_as_asked(LogLevel::kInfo, "leaks", "all memory of all devices was given back");
    }
    for (const auto& [memory, places] : memories) report(memory.first, memory.second, places);
  }

 private:
  using Key = std::tuple<std::string, bool, uint64_t, uint64_t>;
  struct Alive {
    uint64_t bytes = 0;
    Origin origin;
  };
  struct Sum {
    uint64_t count = 0, bytes = 0;
  };

  static void report(const std::string& device, bool pinned, const std::map<Origin, Sum>& places) {
    Sum all;
    std::vector<std::pair<Sum, const Origin*>> sorted;
    for (const auto& [origin, sum] : places) {
      all.count += sum.count;
      all.bytes += sum.bytes;
      sorted.emplace_back(sum, &origin);
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first.bytes > b.first.bytes; });
    log_as_asked(LogLevel::kWarn, "leaks",
                 fmt::format("{}{}: {} block{} alive at exit, {}", device,
                             pinned ? " (pinned host memory)" : "", all.count,
                             all.count == 1 ? "" : "s", in_units(all.bytes)));
    for (size_t i = 0; i < std::min(sorted.size(), kMostPlaces); ++i) {
      const auto& [sum, origin] = sorted[i];
      const std::string op = origin->op();
      log_as_asked(LogLevel::kWarn, "leaks",
                   fmt::format("{}:   {} block{}, {}, by {}: {}", device, sum.count,
                               sum.count == 1 ? "" : "s", in_units(sum.bytes),
                               op.empty() ? "an unknown op" : op, origin->frames()));
    }
    if (sorted.size() > kMostPlaces) {
      log_as_asked(LogLevel::kWarn, "leaks",
                   fmt::format("{}:   and {} more places", device, sorted.size() - kMostPlaces));
    }
  }

  std::mutex mutex_;
  std::map<Key, Alive> alive_;
};

}  // namespace

std::unique_ptr<Layer> make_leaks_layer() { return std::make_unique<LeaksLayer>(); }

}  // namespace ferry::runtime::layers
