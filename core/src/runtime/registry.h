// SPDX-License-Identifier: Apache-2.0
//
// Registry: the backends of this process and the report of how they were
// loaded. Made once, on first use, from any thread; never destroyed.
#ifndef FERRY_RUNTIME_REGISTRY_H
#define FERRY_RUNTIME_REGISTRY_H

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ferry/device.h"
#include "ferry/error.h"
#include "ferry/hal/device.h"
#include "runtime/environment.h"

namespace ferry::runtime {

struct Plugin;
class Refusal;
class VisibleDevices;

/// One usable backend, with at least one device. Lives for the process.
struct BackendEntry {
  int id = 0;  ///< position in the registry; 0 is the CPU
  std::string name;
  std::vector<std::string> aliases;
  std::string file;  ///< the plugin
  std::unique_ptr<hal::Backend> backend;
  std::vector<ferry_device_info> infos;  ///< one a device
  /// The plugin's own number of each device; empty: the same.
  std::vector<uint32_t> plugin_indices;
  /// The device of an earlier backend that is the same hardware.
  std::vector<std::optional<Device>> same_as;
  /// Why there are not more devices, to append to their number; or empty.
  std::string note;
};

class Registry {
 public:
  /// Loads the plugins on the first call. Later calls cost one load. Throws each
  /// time where FERRY_VISIBLE_DEVICES or FERRY_LAYERS cannot be honoured.
  static Registry& get();
  /// As get(), and does not throw for that.
  static Registry& get_for_report();
  /// As get(), where the user asked something: warns once of variables that
  /// were changed too late.
  static Registry& get_for_question();
  /// Adds a place to look into, before the first call of get(). Throws
  /// InvalidArgument afterwards, and for paths that are not absolute.
  static void add_path(const std::string& path);
  /// Takes the place of FERRY_VISIBLE_DEVICES, before the first call of get().
  static void set_visible(std::string_view list);

  /// All backends; index is BackendEntry::id. Fixed after loading. Where no CPU
  /// plugin could be loaded, entry 0 is named "cpu" and has no devices.
  const std::vector<std::unique_ptr<BackendEntry>>& backends() const { return backends_; }
  /// By name or declared alias; null where absent.
  const BackendEntry* find(std::string_view name) const;
  /// Whether a plugin has this name or alias, be it usable or not.
  bool knows(std::string_view word) const;
  const std::vector<LoadReportEntry>& report() const { return report_; }
  const Environment& environment() const { return environment_; }

  /// Why `backend` has no devices: lines of the load report, the names that
  /// exist, and what to do. `in_list`: the name stands in a list of devices,
  /// where "gpu" and "auto" may not.
  std::string explain_absence(std::string_view backend, bool in_list = false) const;
  /// "cpu, acme:0, acme:1": every device, or "none"; then the backends that
  /// FERRY_VISIBLE_DEVICES hides.
  std::string list_devices() const;

 private:
  struct Settings;
  static Settings& settings();
  explicit Registry(const Settings& settings);
  static Registry& load();

  void start_best(std::vector<Plugin>& plugins, const std::string& name);
  void number_backends();
  void settle_aliases();
  void hide_devices(const VisibleDevices& visible);
  /// Puts what FERRY_LAYERS names around the backends.
  void add_layers();
  /// The backend that `word` names, also where that could not be loaded.
  std::string_view canonical(std::string_view word) const;

  Environment environment_;
  std::unique_ptr<const Refusal> refusal_;  ///< of FERRY_VISIBLE_DEVICES or FERRY_LAYERS
  std::string visible_origin_;              ///< who said what is visible
  std::vector<std::unique_ptr<BackendEntry>> backends_;
  std::vector<LoadReportEntry> report_;
  std::vector<std::string> places_;  ///< where plugins were looked for
  /// Alias and backend of every plugin, started or not.
  std::vector<std::pair<std::string, std::string>> aliases_;
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_REGISTRY_H
