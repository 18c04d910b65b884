// SPDX-License-Identifier: Apache-2.0
//
// The hal classes that put layers around a backend's own. Handles are those of
// the plugin, so that the objects inside may be given the ones outside.
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "ferry/error.h"
#include "runtime/layers/layer.h"

namespace ferry::runtime::layers {
namespace {

using hal::Status;

constexpr const char* kNames[] = {
    "count",          "info",          "open",         "close",         "alloc",
    "release",        "h2d",           "d2h",          "d2d",           "fill",
    "peer_copy",      "sync",          "memory_info",  "can_access",    "stream_create",
    "stream_destroy", "sync",          "stream_wait",  "host_function", "native_stream",
    "event_create",   "event_destroy", "event_record", "event_sync",    "event_query",
    "event_elapsed",  "check",         "scratch",      "launch",        "quiesce"};

/// What the objects of one backend share. Never destroyed, as devices are not.
class Shared {
 public:
  Shared(std::string backend, const Stack& stack) : backend(std::move(backend)), stack_(stack) {}

  template <class F>
  Status run(Call& call, F&& function) const noexcept {
    try {
      for (const auto& layer : stack_) {
        const Status refused = layer->before(call);
        if (!refused.ok()) return refused;
      }
      Status status = function();
      for (auto layer = stack_.rbegin(); layer != stack_.rend(); ++layer) {
        status = (*layer)->after(call, status);
      }
      return status;
    } catch (const std::bad_alloc&) {
      return hal::fail(FERRY_E_OTHER, "layers", "no host memory for what FERRY_LAYERS records");
    } catch (const std::exception& e) {
      return hal::fail(FERRY_E_OTHER, "layers", e.what());
    }
  }

  void add(StreamInfo* stream) {
    const std::lock_guard lock(mutex_);
    streams_[stream->handle] = stream;
  }
  void remove(StreamInfo* stream) {
    const std::lock_guard lock(mutex_);
    streams_.erase(stream->handle);
  }
  StreamInfo* stream(ferry_stream handle) const {
    if (handle == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(handle);
    return found == streams_.end() ? nullptr : found->second;
  }
  void add(EventInfo* event) {
    const std::lock_guard lock(mutex_);
    events_[event->handle] = event;
  }
  void remove(EventInfo* event) {
    const std::lock_guard lock(mutex_);
    events_.erase(event->handle);
  }
  EventInfo* event(ferry_event handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(handle);
    return found == events_.end() ? nullptr : found->second;
  }
  void add(DeviceInfo* device) {
    const std::lock_guard lock(mutex_);
    devices_[device->handle] = device;
  }
  void remove(DeviceInfo* device) {
    const std::lock_guard lock(mutex_);
    devices_.erase(device->handle);
  }
  DeviceInfo* device(ferry_device handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = devices_.find(handle);
    return found == devices_.end() ? nullptr : found->second;
  }

  void set_stream(Call& call, hal::Stream* given) const {
    if (given == nullptr) return;
    call.stream = given->handle();
    call.stream_info = stream(call.stream);
  }

  const std::string backend;

 private:
  const Stack& stack_;
  mutable std::mutex mutex_;
  std::map<ferry_stream, StreamInfo*> streams_;
  std::map<ferry_event, EventInfo*> events_;
  std::map<ferry_device, DeviceInfo*> devices_;
};

class LayeredEvent final : public hal::Event {
 public:
  LayeredEvent(Shared& shared, DeviceInfo* device, std::unique_ptr<hal::Event> inner)
      : shared_(shared), inner_(std::move(inner)) {
    info_.device = device;
    info_.handle = inner_->handle();
    shared_.add(&info_);
  }
  ~LayeredEvent() override {
    Call call = of(Function::kEventDestroy);
    (void)shared_.run(call, [] { return Status(); });
    shared_.remove(&info_);
  }

  Status record(hal::Stream& stream) override {
    Call call = of(Function::kEventRecord);
    shared_.set_stream(call, &stream);
    return shared_.run(call, [&] { return inner_->record(stream); });
  }
  Status synchronize() override {
    Call call = of(Function::kEventSync);
    return shared_.run(call, [&] { return inner_->synchronize(); });
  }
  Status query() override {
    Call call = of(Function::kEventQuery);
    return shared_.run(call, [&] { return inner_->query(); });
  }
  Status elapsed_since(hal::Event& begin, double* milliseconds) override {
    Call call = of(Function::kEventElapsed);
    call.second_event = shared_.event(begin.handle());
    call.out = milliseconds;
    return shared_.run(call, [&] { return inner_->elapsed_since(begin, milliseconds); });
  }
  ferry_event handle() noexcept override { return info_.handle; }

 private:
  Call of(Function function) {
    Call call{function, info_.device};
    call.event = &info_;
    return call;
  }
  Shared& shared_;
  std::unique_ptr<hal::Event> inner_;
  EventInfo info_;
};

class LayeredStream final : public hal::Stream {
 public:
  LayeredStream(Shared& shared, DeviceInfo* device, std::unique_ptr<hal::Stream> inner)
      : shared_(shared), inner_(std::move(inner)) {
    info_.device = device;
    info_.number = device->streams.fetch_add(1);
    info_.handle = inner_->handle();
    info_.inner = inner_.get();
    shared_.add(&info_);
  }
  ~LayeredStream() override {
    Call call = of(Function::kStreamDestroy);
    (void)shared_.run(call, [] { return Status(); });
    shared_.remove(&info_);
  }
  StreamInfo* info() { return &info_; }

  Status synchronize() override {
    Call call = of(Function::kStreamSync);
    return shared_.run(call, [&] { return inner_->synchronize(); });
  }
  Status wait(hal::Event& event) override {
    Call call = of(Function::kStreamWait);
    call.event = shared_.event(event.handle());
    return shared_.run(call, [&] { return inner_->wait(event); });
  }
  Status host_function(void (*function)(void*), void* argument) override {
    Call call = of(Function::kHostFunction);
    call.out = reinterpret_cast<const void*>(function);
    return shared_.run(call, [&] { return inner_->host_function(function, argument); });
  }
  Status native(uint64_t* native) override {
    Call call = of(Function::kNativeStream);
    call.out = native;
    return shared_.run(call, [&] { return inner_->native(native); });
  }
  ferry_stream handle() noexcept override { return info_.handle; }

 private:
  Call of(Function function) {
    Call call{function, info_.device};
    call.stream = info_.handle;
    call.stream_info = &info_;
    return call;
  }
  Shared& shared_;
  std::unique_ptr<hal::Stream> inner_;
  StreamInfo info_;
};

class LayeredAllocator final : public hal::Allocator {
 public:
  LayeredAllocator(Shared& shared, DeviceInfo* device, hal::Allocator& inner)
      : shared_(shared), device_(device), inner_(inner) {}

  Status allocate(hal::Space space, uint64_t bytes, ferry_memory* memory) override {
    Call call{Function::kAlloc, device_};
    call.space = space;
    call.bytes = bytes;
    call.out = memory;
    return shared_.run(call, [&] {
      const Status status = inner_.allocate(space, bytes, memory);
      if (status.ok()) call.memory = *memory;
      return status;
    });
  }
  Status release(ferry_memory memory) override {
    Call call{Function::kRelease, device_};
    call.memory = memory;
    return shared_.run(call, [&] { return inner_.release(memory); });
  }

 private:
  Shared& shared_;
  DeviceInfo* device_;
  hal::Allocator& inner_;
};

class LayeredDevice final : public hal::Device {
 public:
  LayeredDevice(Shared& shared, DeviceInfo* info, std::unique_ptr<hal::Device> inner)
      : shared_(shared),
        info_(info),
        inner_(std::move(inner)),
        allocator_(shared, info, inner_->allocator()) {}
  ~LayeredDevice() override {
    Call call{Function::kClose, info_};
    (void)shared_.run(call, [] { return Status(); });
    shared_.remove(info_);
    info_->inner = nullptr;
  }

  hal::Allocator& allocator() override { return allocator_; }
  Status copy_from_host(hal::Stream* stream, ferry_location dst, const void* src,
                        uint64_t bytes) override {
    Call call = copy_call(Function::kH2d, stream, dst, {}, bytes);
    call.host = src;
    return shared_.run(call, [&] { return inner_->copy_from_host(stream, dst, src, bytes); });
  }
  Status copy_to_host(hal::Stream* stream, void* dst, ferry_location src, uint64_t bytes) override {
    Call call = copy_call(Function::kD2h, stream, {}, src, bytes);
    call.host = dst;
    return shared_.run(call, [&] { return inner_->copy_to_host(stream, dst, src, bytes); });
  }
  Status copy(hal::Stream* stream, ferry_location dst, ferry_location src,
              uint64_t bytes) override {
    Call call = copy_call(Function::kD2d, stream, dst, src, bytes);
    return shared_.run(call, [&] { return inner_->copy(stream, dst, src, bytes); });
  }
  Status fill(hal::Stream* stream, ferry_location dst, uint8_t value, uint64_t bytes) override {
    Call call = copy_call(Function::kFill, stream, dst, {}, bytes);
    return shared_.run(call, [&] { return inner_->fill(stream, dst, value, bytes); });
  }
  Status copy_from_peer(hal::Stream* stream, ferry_location dst, hal::Device& source,
                        ferry_location src, uint64_t bytes) override {
    Call call = copy_call(Function::kPeerCopy, stream, dst, src, bytes);
    call.source_device = shared_.device(source.handle());
    return shared_.run(call,
                       [&] { return inner_->copy_from_peer(stream, dst, source, src, bytes); });
  }
  Status synchronize() override {
    Call call{Function::kSync, info_};
    return shared_.run(call, [&] { return inner_->synchronize(); });
  }
  Status create_stream(int32_t priority, std::unique_ptr<hal::Stream>* stream) override {
    Call call{Function::kStreamCreate, info_};
    call.out = stream;
    std::unique_ptr<hal::Stream> made;
    return shared_.run(call, [&] {
      const Status status = inner_->create_stream(priority, &made);
      if (!status.ok()) return status;
      if (shared_.stream(made->handle()) != nullptr) {
        return hal::fail(FERRY_E_OTHER, "stream_create",
                         "layers: the plugin returned the handle of a stream that is alive");
      }
      auto layered = std::make_unique<LayeredStream>(shared_, info_, std::move(made));
      call.stream = layered->handle();
      call.stream_info = layered->info();
      *stream = std::move(layered);
      return status;
    });
  }
  Status create_event(std::unique_ptr<hal::Event>* event) override {
    Call call{Function::kEventCreate, info_};
    call.out = event;
    std::unique_ptr<hal::Event> made;
    return shared_.run(call, [&] {
      const Status status = inner_->create_event(&made);
      if (!status.ok()) return status;
      if (shared_.event(made->handle()) != nullptr) {
        return hal::fail(FERRY_E_OTHER, "event_create",
                         "layers: the plugin returned the handle of an event that is alive");
      }
      *event = std::make_unique<LayeredEvent>(shared_, info_, std::move(made));
      return status;
    });
  }
  Status memory_info(uint64_t* free_bytes, uint64_t* total_bytes) override {
    Call call{Function::kMemoryInfo, info_};
    call.free_bytes = free_bytes;
    call.total_bytes = total_bytes;
    return shared_.run(call, [&] { return inner_->memory_info(free_bytes, total_bytes); });
  }
  ferry_device handle() noexcept override { return info_->handle; }

 private:
  Call copy_call(Function function, hal::Stream* stream, ferry_location dst, ferry_location src,
                 uint64_t bytes) {
    Call call{function, info_};
    shared_.set_stream(call, stream);
    call.dst = dst;
    call.src = src;
    call.bytes = bytes;
    return call;
  }
  Shared& shared_;
  DeviceInfo* info_;
  std::unique_ptr<hal::Device> inner_;
  LayeredAllocator allocator_;
};

class LayeredKernel final : public hal::Kernel {
 public:
  LayeredKernel(const Shared& shared, const hal::Kernel& inner)
      : Kernel(inner.traits()), shared_(shared), inner_(inner) {}

  Status check(const ferry_call& given) const override {
    Call call = of(Function::kCheck, given);
    return shared_.run(call, [&] { return inner_.check(given); });
  }
  uint64_t scratch(const ferry_call& given) const override { return inner_.scratch(given); }
  Status launch(const ferry_call& given) const override {
    Call call = of(Function::kLaunch, given);
    return shared_.run(call, [&] { return inner_.launch(given); });
  }

 private:
  Call of(Function function, const ferry_call& given) const {
    Call call{function, shared_.device(given.device)};
    call.kernel = &inner_;
    call.launch = &given;
    if (function == Function::kLaunch) {
      call.stream = given.stream;
      call.stream_info = shared_.stream(given.stream);
    }
    return call;
  }
  const Shared& shared_;
  const hal::Kernel& inner_;
};

class LayeredBackend final : public hal::Backend {
 public:
  LayeredBackend(std::unique_ptr<hal::Backend> inner, std::string name, const Stack& stack)
      : shared_(*new Shared(std::move(name), stack)), inner_(std::move(inner)) {
    for (const hal::Kernel* kernel : inner_->kernels()) {
      kernels_.push_back(std::make_unique<LayeredKernel>(shared_, *kernel));
      kernel_list_.push_back(kernels_.back().get());
    }
  }

  Status start() override { return inner_->start(); }
  uint32_t count() override { return inner_->count(); }
  Status info(uint32_t index, ferry_device_info* info) override {
    Call call{Function::kInfo};
    call.index = index;
    call.second_index = inner_->count();
    call.out = info;
    return shared_.run(call, [&] { return inner_->info(index, info); });
  }
  Status open(uint32_t index, std::unique_ptr<hal::Device>* device) override {
    Call call{Function::kOpen};
    call.index = index;
    call.second_index = inner_->count();
    call.out = device;
    return shared_.run(call, [&] {
      std::unique_ptr<hal::Device> made;
      const Status status = inner_->open(index, &made);
      if (!status.ok()) return status;
      if (shared_.device(made->handle()) != nullptr) {
        return hal::fail(FERRY_E_OTHER, "open",
                         "layers: the plugin returned the handle of a device that is open");
      }
      // Never freed: the layers' records point to it.
      auto* info = new DeviceInfo();
      info->name = shared_.backend == "cpu" ? "cpu" : shared_.backend + ":" + std::to_string(index);
      info->index = index;
      info->info.size = sizeof info->info;
      if (!inner_->info(index, &info->info).ok()) info->info = {};
      info->handle = made->handle();
      info->inner = made.get();
      shared_.add(info);
      call.device = info;
      *device = std::make_unique<LayeredDevice>(shared_, info, std::move(made));
      return status;
    });
  }
  bool peer_access(uint32_t target, uint32_t source) override {
    return inner_->peer_access(target, source);
  }
  std::span<const hal::Kernel* const> kernels() override { return kernel_list_; }
  std::span<const ferry_extension> extensions() override { return inner_->extensions(); }
  void quiesce() override { inner_->quiesce(); }

 private:
  Shared& shared_;
  std::unique_ptr<hal::Backend> inner_;
  std::vector<std::unique_ptr<hal::Kernel>> kernels_;
  std::vector<const hal::Kernel*> kernel_list_;
};

}  // namespace

const char* name_of(Function function) noexcept { return kNames[static_cast<size_t>(function)]; }

std::unique_ptr<hal::Backend> wrap(std::unique_ptr<hal::Backend> backend, std::string name,
                                   const Stack& stack) {
  if (stack.empty() || backend == nullptr) return backend;
  return std::make_unique<LayeredBackend>(std::move(backend), std::move(name), stack);
}

}  // namespace ferry::runtime::layers
