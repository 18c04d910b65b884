// SPDX-License-Identifier: Apache-2.0
//
// The validate layer: both sides of the plugin boundary keep the contract, or
// the call fails and says who did not.
#include <string>

#include <fmt/format.h>

#include "runtime/host_services.h"
#include "runtime/layers/validate_launch.h"
#include "runtime/log.h"

namespace ferry::runtime::layers {
namespace {

using hal::Status;

bool is_known(ferry_rc code) {
  return (code >= FERRY_E_ABI && code <= FERRY_NOT_READY) || code == FERRY_E_OTHER;
}

/// A violation: the text names the device, the call and the argument.
Status violation(const Call& call, ferry_rc code, const std::string& what) {
  const std::string text = fmt::format(
      "{} {}: {}", call.device != nullptr ? call.device->name : "a device that is not open",
      call.kernel != nullptr ? "launch of " + op_of(*call.kernel, *call.launch)
                             : name_of(call.function),
      what);
  if (call.function == Function::kEventDestroy || call.function == Function::kStreamDestroy ||
      call.function == Function::kClose) {
    log(LogLevel::kError, "validate", text);  // these return nothing
    return Status();
  }
  return hal::fail(code, "validate", text.c_str());
}

class ValidateLayer final : public Layer {
 public:
  Status before(Call& call) override {
    const std::string wrong = check(call);
    if (!wrong.empty()) return violation(call, FERRY_E_ARG, wrong);
    if (call.stream_info == nullptr || call.function == Function::kStreamCreate) return Status();
    std::thread::id nobody{};
    if (!call.stream_info->user.compare_exchange_strong(nobody, std::this_thread::get_id())) {
      return violation(call, FERRY_E_ARG,
                       fmt::format("stream {} is in use by another thread; one thread at a time "
                                   "may use a stream",
                                   call.stream_info->number));
    }
    return Status();
  }

  Status after(Call& call, Status status) override {
    if (call.stream_info != nullptr && call.function != Function::kStreamCreate) {
      call.stream_info->user.store({});
    }
    if (!is_known(status.code())) {
      const std::string said = take_failure();
      return violation(call, FERRY_E_OTHER,
                       fmt::format("the plugin returned the unknown code {}{}{}", status.code(),
                                   said.empty() ? "" : ", saying: ", said));
    }
    if (call.function == Function::kLaunch && status.code() == FERRY_DECLINED) {
      return violation(call, FERRY_E_OTHER, "the kernel declined a call that its check accepted");
    }
    if (!status.ok()) return status;
    const std::string wrong = check_result(call);
    return wrong.empty() ? status : violation(call, FERRY_E_OTHER, wrong);
  }

  void on_block(const BlockEvent& event) override { memory_.on_block(event); }

 private:
  /// What is wrong with the arguments.
  std::string check(const Call& call) {
    switch (call.function) {
      case Function::kInfo:
      case Function::kOpen:
        if (call.out == nullptr) return "the place for the result is null";
        if (call.index < call.second_index) return {};
        return fmt::format("index {} of {} devices", call.index, call.second_index);
      case Function::kAlloc:
        if (call.out == nullptr) return "memory: it is null";
        if (call.space != hal::Space::kDevice && call.space != hal::Space::kPinned) {
          return fmt::format("space: {} is none", static_cast<uint32_t>(call.space));
        }
        return call.bytes == 0 ? "bytes: 0, at least 1 is wanted" : "";
      case Function::kRelease: {
        const std::string wrong = memory_.remove(*call.device, call.memory.handle);
        return wrong.empty() ? wrong : "memory: " + wrong;
      }
      case Function::kEventRecord:
      case Function::kStreamWait:
      case Function::kEventElapsed:
        return check_events(call);
      case Function::kMemoryInfo:
        return call.free_bytes == nullptr || call.total_bytes == nullptr ? "an argument is null"
                                                                         : "";
      case Function::kHostFunction:
        return call.out == nullptr ? "function: it is null" : "";
      case Function::kCheck:
      case Function::kLaunch:
        return check_kernel(call);
      default:
        return is_work(call.function) ? check_copy(call) : "";
    }
  }

  std::string check_stream(const Call& call) const {
    if (call.stream == nullptr) return {};
    if (call.stream_info == nullptr) return "stream: it is not alive, or another backend's";
    if (call.stream_info->device == call.device) return {};
    return fmt::format("stream: it is stream {} of {}", call.stream_info->number,
                       call.stream_info->device->name);
  }

  std::string check_events(const Call& call) const {
    if (std::string wrong = check_stream(call); !wrong.empty()) return wrong;
    if (call.function == Function::kEventRecord) {
      return call.stream == nullptr ? "stream: it is null" : "";
    }
    for (const EventInfo* event : {call.event, call.second_event}) {
      if (event == nullptr && event == call.second_event &&
          call.function == Function::kStreamWait) {
        continue;
      }
      if (event == nullptr) return "event: it is not alive, or another backend's";
      if (event->device != call.device) return "event: it is of " + event->device->name;
      if (!event->recorded.load()) return "event: it was never recorded";
    }
    return {};
  }

  std::string check_copy(const Call& call) {
    if (call.bytes == 0) return "bytes: 0, at least 1 is wanted";
    if (std::string wrong = check_stream(call); !wrong.empty()) return wrong;
    if (call.function != Function::kD2h) {
      const std::string wrong = memory_.check_range(*call.device, call.dst, call.bytes);
      if (!wrong.empty()) return "dst: " + wrong;
    }
    if (call.function == Function::kD2h || call.function == Function::kD2d) {
      const std::string wrong = memory_.check_range(*call.device, call.src, call.bytes);
      if (!wrong.empty()) return "src: " + wrong;
    }
    if (call.function == Function::kPeerCopy) {
      if (call.source_device == nullptr) return "src_device: it is not open, or another backend's";
      const std::string wrong = memory_.check_range(*call.source_device, call.src, call.bytes);
      if (!wrong.empty()) return fmt::format("src on {}: {}", call.source_device->name, wrong);
    }
    if (call.function == Function::kH2d || call.function == Function::kD2h) {
      const std::string wrong = memory_.check_host_range(call.host, call.bytes);
      if (!wrong.empty())
        return fmt::format("{}: {}", call.function == Function::kH2d ? "src" : "dst", wrong);
    }
    if (call.function == Function::kD2d && call.dst.memory.handle == call.src.memory.handle &&
        call.dst.offset < call.src.offset + call.bytes &&
        call.src.offset < call.dst.offset + call.bytes) {
      return fmt::format("dst, src: the ranges at {} and {} of {} bytes overlap", call.dst.offset,
                         call.src.offset, call.bytes);
    }
    return {};
  }

  std::string check_kernel(const Call& call) {
    if (call.device == nullptr) return "device: it is not open, or another backend's";
    if (call.function == Function::kCheck) return {};  // memory and stream are not settled yet
    if (std::string wrong = check_stream(call); !wrong.empty()) return wrong;
    return check_launch(call, memory_);
  }

  /// What is wrong with what the plugin returned.
  std::string check_result(const Call& call) {
    switch (call.function) {
      case Function::kAlloc:
        return memory_.add(*call.device, call.space, call.memory.handle, call.bytes);
      case Function::kMemoryInfo:
        if (*call.free_bytes <= *call.total_bytes) return {};
        return fmt::format("the plugin says that {} of {} bytes are free", *call.free_bytes,
                           *call.total_bytes);
      case Function::kEventRecord:
        call.event->recorded.store(true);
        return {};
      default:
        return {};
    }
  }

  MemoryMap memory_;
};

}  // namespace

std::unique_ptr<Layer> make_validate_layer() { return std::make_unique<ValidateLayer>(); }

}  // namespace ferry::runtime::layers
