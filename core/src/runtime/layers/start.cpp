// SPDX-License-Identifier: Apache-2.0
//
// Makes the layers, feeds them what the caching allocators do, and tells them
// of the process's end.
#include "runtime/layers/start.h"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/environment.h"
#include "runtime/host_services.h"
#include "runtime/log.h"
#include "runtime/memory_history.h"

namespace ferry::runtime::layers {
namespace {

struct Process {
  Stack stack;
  pid_t id = 0;
};
/// Never destroyed: tensors may be freed by static destructors.
Process& process() {
  static auto* const object = new Process();
  return *object;
}

void end() {
  if (getpid() != process().id) return;  // a forked child owns nothing of this
  for (const auto& layer : process().stack) {
    try {
      layer->at_exit();
    } catch (const std::exception& e) {
      log(LogLevel::kError, "layers", e.what());
    }
  }
}

void pass_on(const MemoryEvent& event) noexcept {
  using Kind = MemoryEvent::Kind;
  if (event.kind == Kind::kOutOfMemory || getpid() != process().id) return;
  try {
    const std::string device = event.device.str();
    const BlockEvent block{event.kind == Kind::kAllocate ? BlockEvent::Kind::kAllocate
                           : event.kind == Kind::kFree   ? BlockEvent::Kind::kFree
                                                         : BlockEvent::Kind::kReserved,
                           device.c_str(),
                           event.pinned,
                           event.segment,
                           event.offset,
                           event.bytes,
                           event.allocated,
                           event.reserved};
    for (const auto& layer : process().stack) layer->on_block(block);
  } catch (const std::exception& e) {
    log(LogLevel::kError, "layers", e.what());
  }
}

std::unique_ptr<Layer> make(const std::string& word) {
  if (word == "validate") return make_validate_layer();
  if (word == "leaks") return make_leaks_layer();
  if (word == "sync") return make_sync_layer();
  const auto file = environment_variable("FERRY_TRACE_FILE");
  return make_trace_layer(file && !file->empty() ? *file
                                                 : fmt::format("ferry-trace-{}.json", getpid()));
}

}  // namespace

const Stack& start(const std::optional<std::string>& list) {
  Process& here = process();
  if (!list) return here.stack;
  const std::vector<std::string> words = parse(*list);
  Stack stack;
  for (const std::string& word : words) stack.push_back(make(word));
  if (stack.empty()) return here.stack;
  (void)host_services();  // binds the texts of failures
  here.id = getpid();
  here.stack = std::move(stack);
  set_memory_listener(&pass_on);
  std::atexit(&end);
  log(LogLevel::kInfo, "layers", fmt::format("FERRY_LAYERS: {}", fmt::join(words, ", ")));
  return here.stack;
}

}  // namespace ferry::runtime::layers
