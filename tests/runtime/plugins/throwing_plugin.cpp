// SPDX-License-Identifier: Apache-2.0
//
// A C++ plugin that lets exceptions out of its functions, against the rules.
#include <stdexcept>

#include "ferry/abi/plugin.h"

namespace {

struct Private {};

ferry_rc init(const ferry_host*, ferry_plugin_api* api) {
#if defined(TEST_THROW_IN_INIT)
  (void)api;
  throw std::runtime_error("the init of acme gave up");
#else
  static const ferry_core_api core = {
      sizeof(ferry_core_api),
      0,
      []() -> uint32_t { throw Private(); },
      [](uint32_t, ferry_device_info*) -> ferry_rc { throw Private(); },
      [](uint32_t, ferry_device*) -> ferry_rc { throw Private(); },
      [](ferry_device) { throw Private(); },
      [](ferry_device, uint32_t, uint64_t, ferry_memory*) -> ferry_rc { throw Private(); },
      [](ferry_device, ferry_memory) -> ferry_rc { throw Private(); },
      [](ferry_device, ferry_stream, ferry_location, const void*, uint64_t) -> ferry_rc {
        throw Private();
      },
      [](ferry_device, ferry_stream, void*, ferry_location, uint64_t) -> ferry_rc {
        throw Private();
      },
      [](ferry_device, ferry_stream, ferry_location, ferry_location, uint64_t) -> ferry_rc {
        throw Private();
      },
      [](ferry_device, ferry_stream) -> ferry_rc { throw Private(); },
      nullptr,
      nullptr,
      nullptr};
  api->core = &core;
  return FERRY_OK;
#endif
}

#if defined(TEST_THROW_IN_PROBE)
ferry_rc probe(const ferry_host*, int32_t*) { throw 42; }
#else
constexpr ferry_rc (*probe)(const ferry_host*, int32_t*) = nullptr;
#endif

}  // namespace

extern "C" FERRY_PLUGIN_EXPORT const ferry_plugin_desc ferry_plugin_v1;
constinit const ferry_plugin_desc ferry_plugin_v1 = {FERRY_PLUGIN_MAGIC,
                                                     sizeof(ferry_plugin_desc),
                                                     FERRY_ABI_MAJOR,
                                                     FERRY_ABI_MINOR,
                                                     0,
                                                     0,
                                                     0,
                                                     0,
                                                     "acme",
                                                     "1.2.3",
                                                     "Acme",
                                                     nullptr,
                                                     nullptr,
                                                     nullptr,
                                                     probe,
                                                     &init,
                                                     {}};
