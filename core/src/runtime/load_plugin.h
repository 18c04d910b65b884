// SPDX-License-Identifier: Apache-2.0
//
// The steps from a candidate file to a usable backend: open and judge, then
// start. Each failure is a verdict in the report; nothing throws for it.
#ifndef FERRY_RUNTIME_LOAD_PLUGIN_H
#define FERRY_RUNTIME_LOAD_PLUGIN_H

#include <memory>
#include <string>
#include <vector>

#include "ferry/abi/plugin.h"
#include "ferry/device.h"
#include "runtime/registry.h"
#include "runtime/search.h"

namespace ferry::runtime {

/// A candidate and what became of it.
struct Plugin {
  LoadReportEntry report;  ///< its code is empty while the plugin may be started
  const ferry_plugin_desc* desc = nullptr;
  const ferry_host* host = nullptr;
  std::vector<std::string> aliases;
  int32_t score = 0;

  bool usable() const { return report.code.empty(); }
};

/// Names that no plugin may have.
bool is_reserved_name(std::string_view name);
/// Whether `name` is [a-z][a-z0-9_]*, of at most 32 characters.
bool is_backend_name(std::string_view name);

/// Checks the file, opens the library for ever and judges its descriptor. Calls
/// no code of the plugin.
Plugin open_plugin(const Candidate& candidate);
/// Calls the probe of a usable plugin, which may decline.
void probe_plugin(Plugin& plugin);

/// Initialises a usable plugin and asks for its devices. Fills the report; null
/// where it failed. The entry's id is left to the caller.
std::unique_ptr<BackendEntry> start_plugin(Plugin& plugin);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_LOAD_PLUGIN_H
