// SPDX-License-Identifier: Apache-2.0
//
// The C tables over a C++ hal::Backend, for sdk/plugin.h; and what a plugin may
// ask of the host.
#ifndef FERRY_SDK_TABLES_H
#define FERRY_SDK_TABLES_H

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "ferry/hal/device.h"

namespace ferry::sdk {

/// The host's services, once the plugin was asked to probe or to initialise.
inline const ferry_host*& host() noexcept {
  static const ferry_host* pointer = nullptr;
  return pointer;
}

/// Sends a line to the host's log. `level` is FERRY_LOG_.
inline void log(int32_t level, const char* text) noexcept {
  if (FERRY_HAS(host(), log) && host()->log != nullptr) host()->log(level, text);
}

/// The value of this plugin's option `key`, or null where it is not set.
inline const char* option(const char* key) noexcept {
  return FERRY_HAS(host(), option) && host()->option != nullptr ? host()->option(key) : nullptr;
}

namespace detail {

/// Keeps C++ exceptions on this side of the boundary.
template <class Function>
ferry_rc guarded(const char* where, Function&& function) noexcept {
#if defined(__cpp_exceptions)
  try {
    return std::forward<Function>(function)().code();
  } catch (const std::bad_alloc&) {
    return hal::fail(FERRY_E_OOM, where, "no host memory left").code();
  } catch (const std::exception& e) {
    return hal::fail(FERRY_E_OTHER, where, e.what()).code();
  } catch (...) {
    return hal::fail(FERRY_E_OTHER, where, "the plugin threw something that is no exception")
        .code();
  }
#else
  (void)where;
  return std::forward<Function>(function)().code();
#endif
}

inline hal::Device& device_of(ferry_device d) { return *reinterpret_cast<hal::Device*>(d); }
inline hal::Stream* stream_of(ferry_stream s) { return reinterpret_cast<hal::Stream*>(s); }
inline hal::Event& event_of(ferry_event e) { return *reinterpret_cast<hal::Event*>(e); }

/// The backend, made on first use and never destroyed: at exit the driver may
/// be gone before it.
template <class BackendT>
hal::Backend& backend() {
  static hal::Backend* const object = new BackendT();
  return *object;
}

/// Whether there is such a device; the failure where not.
template <class BackendT>
hal::Status require_index(const char* where, uint32_t index) {
  if (index < backend<BackendT>().count()) return hal::Status();
  return hal::fail(FERRY_E_ARG, where, "there is no device of this index");
}

template <class BackendT>
struct CoreTable {
  static uint32_t count() {
    uint32_t n = 0;
    const ferry_rc rc = guarded("count", [&] {
      n = backend<BackendT>().count();
      return hal::Status();
    });
    return rc == FERRY_OK ? n : 0;
  }
  static ferry_rc info(uint32_t index, ferry_device_info* out) {
    return guarded("info", [&] {
      ferry_device_info full{};
      full.size = sizeof full;
      hal::Status status = require_index<BackendT>("info", index);
      if (status.ok()) status = backend<BackendT>().info(index, &full);
      if (!status.ok()) return status;
      // The host's struct may be shorter or longer than ours.
      const uint32_t size = out->size;
      std::memcpy(out, &full, std::min<size_t>(size, sizeof full));
      out->size = size;
      return status;
    });
  }
  static ferry_rc open(uint32_t index, ferry_device* out) {
    return guarded("open", [&] {
      std::unique_ptr<hal::Device> device;
      hal::Status status = require_index<BackendT>("open", index);
      if (status.ok()) status = backend<BackendT>().open(index, &device);
      if (status.ok()) *out = reinterpret_cast<ferry_device>(device.release());
      return status;
    });
  }
  static void close(ferry_device d) {
    (void)guarded("close", [&] {
      delete &device_of(d);
      return hal::Status();
    });
  }
  static ferry_rc alloc(ferry_device d, uint32_t space, uint64_t bytes, ferry_memory* memory) {
    return guarded("alloc", [&] {
      return device_of(d).allocator().allocate(static_cast<hal::Space>(space), bytes, memory);
    });
  }
  static ferry_rc release(ferry_device d, ferry_memory memory) {
    return guarded("release", [&] { return device_of(d).allocator().release(memory); });
  }
  static ferry_rc h2d(ferry_device d, ferry_stream s, ferry_location dst, const void* src,
                      uint64_t bytes) {
    return guarded("h2d",
                   [&] { return device_of(d).copy_from_host(stream_of(s), dst, src, bytes); });
  }
  static ferry_rc d2h(ferry_device d, ferry_stream s, void* dst, ferry_location src,
                      uint64_t bytes) {
    return guarded("d2h", [&] { return device_of(d).copy_to_host(stream_of(s), dst, src, bytes); });
  }
  static ferry_rc d2d(ferry_device d, ferry_stream s, ferry_location dst, ferry_location src,
                      uint64_t bytes) {
    return guarded("d2d", [&] { return device_of(d).copy(stream_of(s), dst, src, bytes); });
  }
  static ferry_rc sync(ferry_device d, ferry_stream s) {
    return guarded("sync", [&] {
      return s == nullptr ? device_of(d).synchronize() : stream_of(s)->synchronize();
    });
  }
  static ferry_rc fill(ferry_device d, ferry_stream s, ferry_location dst, uint8_t value,
                       uint64_t bytes) {
    return guarded("fill", [&] { return device_of(d).fill(stream_of(s), dst, value, bytes); });
  }
  static ferry_rc memory_info(ferry_device d, uint64_t* free_bytes, uint64_t* total_bytes) {
    return guarded("memory_info",
                   [&] { return device_of(d).memory_info(free_bytes, total_bytes); });
  }
  static void quiesce() {
    (void)guarded("quiesce", [] {
      backend<BackendT>().quiesce();
      return hal::Status();
    });
  }
  static const ferry_core_api* table() {
    static const ferry_core_api api = {sizeof(ferry_core_api),
                                       0,
                                       &count,
                                       &info,
                                       &open,
                                       &close,
                                       &alloc,
                                       &release,
                                       &h2d,
                                       &d2h,
                                       &d2d,
                                       &sync,
                                       &fill,
                                       &memory_info,
                                       &quiesce};
    return &api;
  }
};

struct StreamTable {
  static ferry_rc stream_create(ferry_device d, int32_t priority, ferry_stream* out) {
    return guarded("stream_create", [&] {
      std::unique_ptr<hal::Stream> stream;
      const hal::Status status = device_of(d).create_stream(priority, &stream);
      if (status.ok()) *out = reinterpret_cast<ferry_stream>(stream.release());
      return status;
    });
  }
  static void stream_destroy(ferry_device, ferry_stream s) {
    (void)guarded("stream_destroy", [&] {
      delete stream_of(s);
      return hal::Status();
    });
  }
  static ferry_rc event_create(ferry_device d, ferry_event* out) {
    return guarded("event_create", [&] {
      std::unique_ptr<hal::Event> event;
      const hal::Status status = device_of(d).create_event(&event);
      if (status.ok()) *out = reinterpret_cast<ferry_event>(event.release());
      return status;
    });
  }
  static void event_destroy(ferry_device, ferry_event e) {
    (void)guarded("event_destroy", [&] {
      delete &event_of(e);
      return hal::Status();
    });
  }
  static ferry_rc event_record(ferry_device, ferry_event e, ferry_stream s) {
    return guarded("event_record", [&] { return event_of(e).record(*stream_of(s)); });
  }
  static ferry_rc stream_wait(ferry_device, ferry_stream s, ferry_event e) {
    return guarded("stream_wait", [&] { return stream_of(s)->wait(event_of(e)); });
  }
  static ferry_rc event_sync(ferry_device, ferry_event e) {
    return guarded("event_sync", [&] { return event_of(e).synchronize(); });
  }
  static ferry_rc event_query(ferry_device, ferry_event e) {
    return guarded("event_query", [&] { return event_of(e).query(); });
  }
  static ferry_rc event_elapsed(ferry_device, ferry_event begin, ferry_event end, double* ms) {
    return guarded("event_elapsed",
                   [&] { return event_of(end).elapsed_since(event_of(begin), ms); });
  }
  static ferry_rc host_function(ferry_device, ferry_stream s, void (*function)(void*),
                                void* argument) {
    return guarded("host_function",
                   [&] { return stream_of(s)->host_function(function, argument); });
  }
  static ferry_rc native_stream(ferry_device, ferry_stream s, uint64_t* native) {
    return guarded("native_stream", [&] { return stream_of(s)->native(native); });
  }
  static const ferry_stream_api* table() {
    static const ferry_stream_api api = {sizeof(ferry_stream_api),
                                         0,
                                         &stream_create,
                                         &stream_destroy,
                                         &event_create,
                                         &event_destroy,
                                         &event_record,
                                         &stream_wait,
                                         &event_sync,
                                         &event_query,
                                         &event_elapsed,
                                         &host_function,
                                         &native_stream};
    return &api;
  }
};

template <class BackendT>
struct PeerTable {
  static ferry_rc can_access(uint32_t target, uint32_t source, uint32_t* yes) {
    return guarded("can_access", [&] {
      *yes = backend<BackendT>().peer_access(target, source) ? 1 : 0;
      return hal::Status();
    });
  }
  static ferry_rc copy(ferry_device target, ferry_location dst, ferry_device source,
                       ferry_location src, uint64_t bytes, ferry_stream stream) {
    return guarded("peer_copy", [&] {
      return device_of(target).copy_from_peer(stream_of(stream), dst, device_of(source), src,
                                              bytes);
    });
  }
  static const ferry_peer_api* table() {
    static const ferry_peer_api api = {sizeof(ferry_peer_api), 0, &can_access, &copy};
    return &api;
  }
};

inline const hal::Kernel& kernel_of(const ferry_kernel* k) {
  return *static_cast<const hal::Kernel*>(k->self);
}
inline ferry_rc kernel_check(const ferry_kernel* k, const ferry_call* call) {
  return guarded(k->family, [&] { return kernel_of(k).check(*call); });
}
inline uint64_t kernel_scratch(const ferry_kernel* k, const ferry_call* call) {
  uint64_t bytes = 0;
  (void)guarded(k->family, [&] {
    bytes = kernel_of(k).scratch(*call);
    return hal::Status();
  });
  return bytes;
}
inline ferry_rc kernel_launch(const ferry_kernel* k, const ferry_call* call) {
  return guarded(k->family, [&] { return kernel_of(k).launch(*call); });
}

}  // namespace detail
}  // namespace ferry::sdk

#endif  // FERRY_SDK_TABLES_H
