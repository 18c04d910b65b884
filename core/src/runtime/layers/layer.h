// SPDX-License-Identifier: Apache-2.0
//
// Layer: something that looks at every call into a plugin. With none asked for
// no object of this folder exists, and calls go straight to the plugin.
#ifndef FERRY_RUNTIME_LAYERS_LAYER_H
#define FERRY_RUNTIME_LAYERS_LAYER_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ferry/hal/device.h"

namespace ferry::runtime::layers {

/// The functions of a plugin's tables, by the names the tables give them.
enum class Function : uint8_t {
  kCount,
  kInfo,
  kOpen,
  kClose,
  kAlloc,
  kRelease,
  kH2d,
  kD2h,
  kD2d,
  kFill,
  kPeerCopy,
  kSync,
  kMemoryInfo,
  kCanAccess,
  kStreamCreate,
  kStreamDestroy,
  kStreamSync,
  kStreamWait,
  kHostFunction,
  kNativeStream,
  kEventCreate,
  kEventDestroy,
  kEventRecord,
  kEventSync,
  kEventQuery,
  kEventElapsed,
  kCheck,
  kScratch,
  kLaunch,
  kQuiesce
};
const char* name_of(Function function) noexcept;
/// Whether the call gives work to a stream.
constexpr bool is_work(Function f) noexcept {
  return (f >= Function::kH2d && f <= Function::kPeerCopy) || f == Function::kLaunch;
}

/// A device that was opened, for as long as the process lives.
struct DeviceInfo {
  std::string name;  ///< "acme:0"
  uint32_t index = 0;
  ferry_device_info info{};
  ferry_device handle = nullptr;
  hal::Device* inner = nullptr;  ///< null once it was closed
  std::atomic<uint32_t> streams{0};
};

struct StreamInfo {
  DeviceInfo* device = nullptr;
  uint32_t number = 0;  ///< on its device, from 0
  ferry_stream handle = nullptr;
  hal::Stream* inner = nullptr;
  std::atomic<std::thread::id> user{};  ///< the thread that is inside a call now
};

struct EventInfo {
  DeviceInfo* device = nullptr;
  ferry_event handle = nullptr;
  /// Whether it was ever recorded.
  std::atomic<bool> recorded{false};
};

/// One call; what does not apply is empty.
struct Call {
  explicit Call(Function f, DeviceInfo* d = nullptr) : function(f), device(d) {}

  Function function;
  DeviceInfo* device;
  ferry_stream stream = nullptr;      ///< as it was given
  StreamInfo* stream_info = nullptr;  ///< null: no stream, or an unknown one
  EventInfo* event = nullptr;
  EventInfo* second_event = nullptr;    ///< the earlier one of event_elapsed
  DeviceInfo* source_device = nullptr;  ///< of peer_copy
  ferry_location dst{}, src{};
  const void* host = nullptr;  ///< the host's side of a copy
  uint64_t bytes = 0;
  hal::Space space = hal::Space::kDevice;
  ferry_memory memory{};  ///< to release; after an alloc what came back
  uint32_t index = 0, second_index = 0;
  const hal::Kernel* kernel = nullptr;
  const ferry_call* launch = nullptr;
  const uint64_t* free_bytes = nullptr;
  const uint64_t* total_bytes = nullptr;
  const void* out = nullptr;  ///< where the result is to be written
  /// The trace's, from before() to after(): when the call began, in us, and the
  /// event before the work.
  double began = 0;
  std::shared_ptr<hal::Event> begin_event;
};

/// A block of the caching allocator came or went.
struct BlockEvent {
  enum class Kind { kAllocate, kFree, kReserved };
  Kind kind;
  const char* device;  ///< "acme:0"
  bool pinned;
  uint64_t segment, offset, bytes;
  uint64_t allocated, reserved;  ///< of that memory, afterwards
};

class Layer {
 public:
  virtual ~Layer() = default;
  /// Before the plugin is called; a failure keeps the call from it.
  virtual hal::Status before(Call& call) {
    (void)call;
    return hal::Status();
  }
  /// After it; what it returns takes the place of `status`.
  virtual hal::Status after(Call& call, hal::Status status) {
    (void)call;
    return status;
  }
  /// Any thread; under the allocator's lock, so it must not allocate there.
  virtual void on_block(const BlockEvent& event) { (void)event; }
  /// At the normal end of the process.
  virtual void at_exit() {}
};

/// Those that were asked for, in the order of before(); after() goes backwards.
using Stack = std::vector<std::unique_ptr<Layer>>;

std::unique_ptr<Layer> make_validate_layer();
std::unique_ptr<Layer> make_sync_layer();
std::unique_ptr<Layer> make_leaks_layer();
/// Writes to `file`. InvalidArgument where that cannot be created.
std::unique_ptr<Layer> make_trace_layer(const std::string& file);

/// `backend` with `stack` around every object that it hands out; itself where
/// the stack is empty. `name` is the backend's; the stack outlives the result.
std::unique_ptr<hal::Backend> wrap(std::unique_ptr<hal::Backend> backend, std::string name,
                                   const Stack& stack);

}  // namespace ferry::runtime::layers

#endif  // FERRY_RUNTIME_LAYERS_LAYER_H
