// SPDX-License-Identifier: Apache-2.0
//
// Turns a C++ hal::Backend into the one symbol that a plugin exports. Header
// only; the plugin needs no Ferry library.
//
//   class MyBackend final : public ferry::hal::Backend { ... };
//   FERRY_EXPORT_PLUGIN(MyBackend, .name = "acme", .version = "1.0", .vendor = "Acme")
#ifndef FERRY_SDK_PLUGIN_H
#define FERRY_SDK_PLUGIN_H

#include <algorithm>
#include <cstring>
#include <vector>

#include "ferry/hal/device.h"
#include "ferry/sdk/tables.h"

namespace ferry::sdk {

/// What the descriptor says; see ferry_plugin_desc for the meaning.
struct PluginInfo {
  const char* name = "";
  const char* version = "";
  const char* vendor = "";
  const char* requires_text = "";
  const char* aliases = nullptr;
  const char* visible_env = nullptr;
  int32_t dlpack_type = 0;
  uint32_t minor_min = 0;
};

namespace detail {

template <class BackendT>
struct Entry {
  static void bind(const ferry_host* services) noexcept {
    host() = services;
    hal::fail_function() = services->fail;
  }
  static ferry_rc init(const ferry_host* services, ferry_plugin_api* out) {
    bind(services);
    return guarded("init", [&] {
      if (const hal::Status status = backend<BackendT>().start(); !status.ok()) return status;
      static const std::vector<ferry_kernel>* const kernels = [] {
        auto* list = new std::vector<ferry_kernel>();
        for (const hal::Kernel* kernel : backend<BackendT>().kernels()) {
          const hal::KernelTraits& t = kernel->traits();
          list->push_back({sizeof(ferry_kernel), t.flags, t.family, t.dtypes,
                           const_cast<hal::Kernel*>(kernel), &kernel_check, &kernel_scratch,
                           &kernel_launch});
        }
        return list;
      }();
      ferry_plugin_api full{};
      full.core = CoreTable<BackendT>::table();
      full.streams = StreamTable::table();
      full.peer = PeerTable<BackendT>::table();
      full.kernels = kernels->data();
      full.n_kernels = static_cast<uint32_t>(kernels->size());
      const std::span<const ferry_extension> extensions = backend<BackendT>().extensions();
      full.extensions = extensions.data();
      full.n_extensions = static_cast<uint32_t>(extensions.size());
      const uint32_t size = out->size;
      std::memcpy(out, &full, std::min<size_t>(size, sizeof full));
      out->size = size;
      return hal::Status();
    });
  }
  static constexpr ferry_plugin_desc describe(const PluginInfo& i) {
    return {FERRY_PLUGIN_MAGIC,
            sizeof(ferry_plugin_desc),
            FERRY_ABI_MAJOR,
            FERRY_ABI_MINOR,
            i.minor_min,
            i.dlpack_type,
            0,
            0,
            i.name,
            i.version,
            i.vendor,
            i.requires_text,
            i.aliases,
            i.visible_env,
            nullptr,
            &init,
            {}};
  }
};

}  // namespace detail
}  // namespace ferry::sdk

/// Exports `BackendT`; the rest initialises a sdk::PluginInfo by name. Once in
/// a plugin, outside of any namespace.
#define FERRY_EXPORT_PLUGIN(BackendT, ...)                                \
  extern "C" FERRY_PLUGIN_EXPORT const ferry_plugin_desc ferry_plugin_v1; \
  constinit const ferry_plugin_desc ferry_plugin_v1 =                     \
      ::ferry::sdk::detail::Entry<BackendT>::describe({__VA_ARGS__});

#endif  // FERRY_SDK_PLUGIN_H
