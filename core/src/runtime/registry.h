// SPDX-License-Identifier: Apache-2.0
//
// Registry: the backends of this process and the report of how they were
// loaded. Made once, on first use, from any thread; never destroyed.
#ifndef FERRY_RUNTIME_REGISTRY_H
#define FERRY_RUNTIME_REGISTRY_H

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ferry/device.h"
#include "ferry/hal/device.h"

namespace ferry::runtime {

struct Plugin;

/// One usable backend, with at least one device. Lives for the process.
struct BackendEntry {
  int id = 0;  ///< position in the registry; 0 is the CPU
  std::string name;
  std::vector<std::string> aliases;
  std::string file;  ///< the plugin
  std::unique_ptr<hal::Backend> backend;
  std::vector<ferry_device_info> infos;  ///< one a device
};

class Registry {
 public:
  /// Loads the plugins on the first call. Later calls cost one load.
  static Registry& get();
  /// Adds a place to look into, before the first call of get(). Throws
  /// InvalidArgument afterwards, and for paths that are not absolute.
  static void add_path(const std::string& path);

  /// All backends; index is BackendEntry::id. Fixed after loading. Where no CPU
  /// plugin could be loaded, entry 0 is named "cpu" and has no devices.
  const std::vector<std::unique_ptr<BackendEntry>>& backends() const { return backends_; }
  /// By name or declared alias; null where absent.
  const BackendEntry* find(std::string_view name) const;
  const std::vector<LoadReportEntry>& report() const { return report_; }

  /// Why `backend` has no devices: lines of the load report, the names that
  /// exist, and what to do.
  std::string explain_absence(std::string_view backend) const;
  /// "cpu, acme:0, acme:1": every device, or "none".
  std::string list_devices() const;

 private:
  explicit Registry(const std::vector<std::string>& api_paths);
  static Registry& load();

  void start_best(std::vector<Plugin>& plugins, const std::string& name);
  void number_backends();
  void settle_aliases();
  /// The backend that `word` names, also where that could not be loaded.
  std::string_view canonical(std::string_view word) const;

  std::vector<std::unique_ptr<BackendEntry>> backends_;
  std::vector<LoadReportEntry> report_;
  std::vector<std::string> places_;  ///< where plugins were looked for
  /// Alias and backend of the plugins that could not be started.
  std::vector<std::pair<std::string, std::string>> absent_aliases_;
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_REGISTRY_H
