// SPDX-License-Identifier: Apache-2.0
//
// The hal classes over a plugin's tables. Each call is one indirect call;
// everything unusual is out of line.
#include "runtime/import.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/host_services.h"
#include "runtime/log.h"

namespace ferry::runtime {
namespace {

using hal::Status;

/// `table` in this host's size: members that the plugin did not know are 0, so
/// that one test stands for FERRY_HAS and for null.
template <class Table>
Table complete(const Table* table) {
  Table full{};
  if (table == nullptr) return full;
  // A member that the plugin's size cuts counts as absent.
  const size_t bytes = std::min<size_t>(table->size, sizeof full) / sizeof(void*) * sizeof(void*);
  std::memcpy(&full, table, bytes);
  return full;
}

[[gnu::cold]] Status missing(const char* where) {
  return hal::fail(FERRY_E_MISSING, where, "the plugin does not have this function");
}

[[gnu::cold]] Status unexpected(const char* where, ferry_rc code) {
  const std::string text =
      fmt::format("the plugin answered {}, which this function cannot mean", code);
  return hal::fail(FERRY_E_OTHER, where, text.c_str());
}

/// Calls into the plugin. `kPositive`: whether the function may answer more
/// than success and errors.
template <bool kPositive = false, class Function, class... Args>
inline Status invoke(const char* where, Function function, Args... args) noexcept {
  if (function == nullptr) [[unlikely]]
    return missing(where);
  try {
    const ferry_rc rc = function(args...);
    if (!kPositive && rc > FERRY_OK) [[unlikely]]
      return unexpected(where, rc);
    return Status(rc);
  } catch (...) {
    return Status(fail_from_exception(where));
  }
}

/// The same for functions that return nothing.
template <class Function, class... Args>
inline void invoke_void(const char* where, Function function, Args... args) noexcept {
  if (function == nullptr) return;
  try {
    function(args...);
  } catch (...) {
    (void)fail_from_exception(where);
    log(LogLevel::kError, "runtime", take_failure());
  }
}

/// The tables, completed once; shared by everything of one plugin.
struct Tables {
  ferry_core_api core;
  ferry_stream_api streams;
  ferry_peer_api peer;

  bool has_streams() const { return streams.stream_create && streams.stream_destroy; }
  bool has_events() const {
    return streams.event_create && streams.event_destroy && streams.event_record &&
           streams.stream_wait && streams.event_sync && streams.event_query;
  }
};

ferry_stream handle_of(hal::Stream* stream) {
  return stream == nullptr ? nullptr : stream->handle();
}

class ImportedEvent final : public hal::Event {
 public:
  ImportedEvent(const Tables& tables, ferry_device device, ferry_event event)
      : api_(tables.streams), device_(device), event_(event) {}
  ~ImportedEvent() override { invoke_void("event_destroy", api_.event_destroy, device_, event_); }

  Status record(hal::Stream& stream) override {
    return invoke("event_record", api_.event_record, device_, event_, stream.handle());
  }
  Status synchronize() override { return invoke("event_sync", api_.event_sync, device_, event_); }
  Status query() override { return invoke<true>("event_query", api_.event_query, device_, event_); }
  Status elapsed_since(hal::Event& begin, double* milliseconds) override {
    return invoke("event_elapsed", api_.event_elapsed, device_, begin.handle(), event_,
                  milliseconds);
  }
  ferry_event handle() noexcept override { return event_; }

 private:
  const ferry_stream_api& api_;
  const ferry_device device_;
  const ferry_event event_;
};

class ImportedStream final : public hal::Stream {
 public:
  ImportedStream(const Tables& tables, ferry_device device, ferry_stream stream)
      : tables_(tables), device_(device), stream_(stream) {}
  ~ImportedStream() override {
    invoke_void("stream_destroy", tables_.streams.stream_destroy, device_, stream_);
  }

  Status synchronize() override { return invoke("sync", tables_.core.sync, device_, stream_); }
  Status wait(hal::Event& event) override {
    return invoke("stream_wait", tables_.streams.stream_wait, device_, stream_, event.handle());
  }
  Status host_function(void (*function)(void*), void* argument) override {
    return invoke("host_function", tables_.streams.host_function, device_, stream_, function,
                  argument);
  }
  Status native(uint64_t* native) override {
    return invoke("native_stream", tables_.streams.native_stream, device_, stream_, native);
  }
  ferry_stream handle() noexcept override { return stream_; }

 private:
  const Tables& tables_;
  const ferry_device device_;
  const ferry_stream stream_;
};

class ImportedAllocator final : public hal::Allocator {
 public:
  ImportedAllocator(const ferry_core_api& api, ferry_device device) : api_(api), device_(device) {}

  Status allocate(hal::Space space, uint64_t bytes, ferry_memory* memory) override {
    ferry_memory block{0};
    const Status status =
        invoke("alloc", api_.alloc, device_, static_cast<uint32_t>(space), bytes, &block);
    if (!status.ok()) return status;
    if (block.handle == 0) [[unlikely]] {
      return hal::fail(FERRY_E_OTHER, "alloc", "the plugin answered success without memory");
    }
    *memory = block;
    return status;
  }
  Status release(ferry_memory memory) override {
    return invoke("release", api_.release, device_, memory);
  }

 private:
  const ferry_core_api& api_;
  const ferry_device device_;
};

class ImportedDevice final : public hal::Device {
 public:
  ImportedDevice(const Tables& tables, ferry_device device)
      : tables_(tables), device_(device), allocator_(tables.core, device) {}
  ~ImportedDevice() override { invoke_void("close", tables_.core.close, device_); }

  hal::Allocator& allocator() override { return allocator_; }
  Status copy_from_host(hal::Stream* stream, ferry_location dst, const void* src,
                        uint64_t bytes) override {
    return invoke("h2d", tables_.core.h2d, device_, handle_of(stream), dst, src, bytes);
  }
  Status copy_to_host(hal::Stream* stream, void* dst, ferry_location src, uint64_t bytes) override {
    return invoke("d2h", tables_.core.d2h, device_, handle_of(stream), dst, src, bytes);
  }
  Status copy(hal::Stream* stream, ferry_location dst, ferry_location src,
              uint64_t bytes) override {
    return invoke("d2d", tables_.core.d2d, device_, handle_of(stream), dst, src, bytes);
  }
  Status fill(hal::Stream* stream, ferry_location dst, uint8_t value, uint64_t bytes) override {
    if (tables_.core.fill == nullptr) return Status(FERRY_E_MISSING);
    return invoke("fill", tables_.core.fill, device_, handle_of(stream), dst, value, bytes);
  }
  Status copy_from_peer(hal::Stream* stream, ferry_location dst, hal::Device& source,
                        ferry_location src, uint64_t bytes) override {
    return invoke("peer_copy", tables_.peer.copy, device_, dst, source.handle(), src, bytes,
                  handle_of(stream));
  }
  Status synchronize() override {
    return invoke("sync", tables_.core.sync, device_, static_cast<ferry_stream>(nullptr));
  }
  Status create_stream(int32_t priority, std::unique_ptr<hal::Stream>* stream) override {
    if (!tables_.has_streams()) return missing("stream_create");
    ferry_stream raw = nullptr;
    const Status status =
        invoke("stream_create", tables_.streams.stream_create, device_, priority, &raw);
    if (!status.ok()) return status;
    if (raw == nullptr) return unexpected("stream_create", FERRY_OK);
    *stream = std::make_unique<ImportedStream>(tables_, device_, raw);
    return status;
  }
  Status create_event(std::unique_ptr<hal::Event>* event) override {
    if (!tables_.has_events()) return missing("event_create");
    ferry_event raw = nullptr;
    const Status status = invoke("event_create", tables_.streams.event_create, device_, &raw);
    if (!status.ok()) return status;
    if (raw == nullptr) return unexpected("event_create", FERRY_OK);
    *event = std::make_unique<ImportedEvent>(tables_, device_, raw);
    return status;
  }
  Status memory_info(uint64_t* free_bytes, uint64_t* total_bytes) override {
    return invoke("memory_info", tables_.core.memory_info, device_, free_bytes, total_bytes);
  }
  ferry_device handle() noexcept override { return device_; }

 private:
  const Tables& tables_;
  const ferry_device device_;
  ImportedAllocator allocator_;
};

class ImportedKernel final : public hal::Kernel {
 public:
  /// `raw` is the plugin's element, `full` the same in this host's size.
  ImportedKernel(const ferry_kernel& raw, const ferry_kernel& full)
      : Kernel({full.family, full.dtypes, full.flags}),
        raw_(raw),
        check_(full.check),
        scratch_(full.scratch),
        launch_(full.launch) {}

  Status check(const ferry_call& call) const override {
    if (check_ == nullptr) return Status();
    return invoke<true>(traits().family, check_, &raw_, &call);
  }
  uint64_t scratch(const ferry_call& call) const override {
    if (scratch_ == nullptr) return 0;
    try {
      return scratch_(&raw_, &call);
    } catch (...) {
      // launch() finds the memory missing and reports it.
      (void)fail_from_exception(traits().family);
      return 0;
    }
  }
  Status launch(const ferry_call& call) const override {
    return invoke<true>(traits().family, launch_, &raw_, &call);
  }

 private:
  const ferry_kernel& raw_;
  decltype(ferry_kernel::check) const check_;
  decltype(ferry_kernel::scratch) const scratch_;
  decltype(ferry_kernel::launch) const launch_;
};

class ImportedBackend final : public hal::Backend {
 public:
  ImportedBackend(const char* name, const ferry_plugin_api& api)
      : tables_{complete(api.core), complete(api.streams), complete(api.peer)} {
    import_kernels(name, api);
    import_extensions(name, api);
  }

  uint32_t count() override {
    uint32_t n = 0;
    if (tables_.core.count == nullptr) return n;
    (void)guarded("count", [&] {
      n = tables_.core.count();
      return ferry_rc{FERRY_OK};
    });
    return n;
  }
  Status info(uint32_t index, ferry_device_info* info) override {
    return invoke("info", tables_.core.info, index, info);
  }
  Status open(uint32_t index, std::unique_ptr<hal::Device>* device) override {
    ferry_device raw = nullptr;
    const Status status = invoke("open", tables_.core.open, index, &raw);
    if (!status.ok()) return status;
    if (raw == nullptr) return unexpected("open", FERRY_OK);
    *device = std::make_unique<ImportedDevice>(tables_, raw);
    return status;
  }
  bool peer_access(uint32_t target, uint32_t source) override {
    if (tables_.peer.can_access == nullptr || tables_.peer.copy == nullptr) return false;
    uint32_t yes = 0;
    const Status status = invoke("can_access", tables_.peer.can_access, target, source, &yes);
    if (!status.ok()) (void)take_failure();
    return status.ok() && yes != 0;
  }
  std::span<const hal::Kernel* const> kernels() override { return kernel_list_; }
  std::span<const ferry_extension> extensions() override { return extensions_; }
  void quiesce() override { invoke_void("quiesce", tables_.core.quiesce); }

 private:
  void import_kernels(const char* name, const ferry_plugin_api& api) {
    if (api.kernels == nullptr) return;
    const char* at = reinterpret_cast<const char*>(api.kernels);
    for (uint32_t i = 0; i < api.n_kernels; ++i) {
      const auto& raw = *reinterpret_cast<const ferry_kernel*>(at);
      if (raw.size < sizeof raw.size || raw.size % alignof(ferry_kernel) != 0) {
        // Without a sound size the next element cannot be found.
        log(LogLevel::kWarn, name,
            fmt::format("kernel {} says its size is {}: it and those after it are left out", i,
                        raw.size));
        break;
      }
      at += raw.size;
      const ferry_kernel full = complete(&raw);
      if (full.launch == nullptr || full.family == nullptr || *full.family == '\0') {
        log(LogLevel::kWarn, name,
            fmt::format("kernel {} has no family or no launch function: it is left out", i));
        continue;
      }
      kernels_.push_back(std::make_unique<ImportedKernel>(raw, full));
    }
    for (const auto& kernel : kernels_) kernel_list_.push_back(kernel.get());
  }

  void import_extensions(const char* name, const ferry_plugin_api& api) {
    if (api.extensions == nullptr) return;
    for (uint32_t i = 0; i < api.n_extensions; ++i) {
      const ferry_extension& extension = api.extensions[i];
      if (extension.name == nullptr || *extension.name == '\0' || extension.table == nullptr) {
        log(LogLevel::kWarn, name,
            fmt::format("extension {} has no name or no table: it is left out", i));
        continue;
      }
      extensions_.push_back(extension);
    }
  }

  const Tables tables_;
  std::vector<ferry_extension> extensions_;
  std::vector<std::unique_ptr<ImportedKernel>> kernels_;
  std::vector<const hal::Kernel*> kernel_list_;
};

}  // namespace

const char* missing_core_function(const ferry_plugin_api& api) {
  const ferry_core_api core = complete(complete(&api).core);
  if (core.count == nullptr) return "count";
  if (core.info == nullptr) return "info";
  if (core.open == nullptr) return "open";
  if (core.close == nullptr) return "close";
  if (core.alloc == nullptr) return "alloc";
  if (core.release == nullptr) return "release";
  if (core.h2d == nullptr) return "h2d";
  if (core.d2h == nullptr) return "d2h";
  if (core.d2d == nullptr) return "d2d";
  if (core.sync == nullptr) return "sync";
  return nullptr;
}

std::unique_ptr<hal::Backend> import_plugin(const ferry_plugin_desc& desc,
                                            const ferry_plugin_api& api) {
  // What hal::fail() in this library says must reach take_failure().
  (void)host_services();
  return std::make_unique<ImportedBackend>(desc.name, complete(&api));
}

}  // namespace ferry::runtime
