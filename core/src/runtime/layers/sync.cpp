// SPDX-License-Identifier: Apache-2.0
//
// The sync layer: waits for each piece of work at once, so that an error comes
// from the call that caused it.
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "runtime/host_services.h"
#include "runtime/layers/describe.h"
#include "runtime/watchdog.h"

namespace ferry::runtime::layers {
namespace {

using hal::Status;

/// With a watchdog the wait must end even where the work does not.
Status wait_with_limit(const Call& call) {
  std::unique_ptr<hal::Event> event;
  Status status = call.device->inner->create_event(&event);
  if (status.code() == FERRY_E_MISSING) {
    (void)take_failure();
    return call.stream_info->inner->synchronize();
  }
  if (status.ok()) status = event->record(*call.stream_info->inner);
  if (!status.ok()) return status;
  const auto end = std::chrono::steady_clock::now() + watchdog_limit();
  while ((status = event->query()).code() == FERRY_NOT_READY) {
    if (std::chrono::steady_clock::now() > end) {
      const std::string text =
          fmt::format("{} did not finish within the {} ms of FERRY_WATCHDOG_MS", describe(call),
                      watchdog_limit().count());
      return hal::fail(FERRY_E_LOST, "sync layer", text.c_str());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return status;
}

class SyncLayer final : public Layer {
 public:
  Status after(Call& call, Status status) override {
    if (!is_work(call.function) || !status.ok() || call.stream_info == nullptr) return status;
    const Status done = watchdog_limit().count() > 0 ? wait_with_limit(call)
                                                     : call.stream_info->inner->synchronize();
    if (!done.failed() || done.code() == FERRY_E_LOST) return done;
    const std::string reason = take_failure();
    const std::string text =
        fmt::format("{} on stream {} failed: {}", describe(call), call.stream_info->number,
                    reason.empty() ? "the plugin gave no reason" : reason);
    return hal::fail(done.code(), "sync layer", text.c_str());
  }
};

}  // namespace

std::unique_ptr<Layer> make_sync_layer() { return std::make_unique<SyncLayer>(); }

}  // namespace ferry::runtime::layers
