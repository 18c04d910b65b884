// SPDX-License-Identifier: Apache-2.0
//
// Device: a small value that names a device, and the questions one asks about
// the devices that were found. Nothing here creates a driver context.
#ifndef FERRY_DEVICE_H
#define FERRY_DEVICE_H

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/export.h"

namespace ferry {

/// Names one device: a backend and an index. Two words wide, copied freely.
class FERRY_API Device {
 public:
  /// The CPU.
  Device() noexcept = default;

  /// Parses "backend" or "backend:index" ("cpu", "acme:1"), an alias that a
  /// backend declares, "gpu" (first accelerator of any vendor) or "auto" (the
  /// first accelerator, else the CPU). The index has no sign, spaces or leading
  /// zeros. First use loads the plugins.
  /// InvalidArgument: not of this form. UnavailableError: no such device here;
  /// the text names the devices found and the reason why a backend is absent.
  Device(std::string_view text);  // NOLINT(google-explicit-constructor)
  Device(const char* text) : Device(std::string_view(text)) {}         // NOLINT
  Device(const std::string& text) : Device(std::string_view(text)) {}  // NOLINT
  /// Device `index` of `backend`; throws as above.
  Device(std::string_view backend, int index);

  /// Name of the backend: "cpu", "acme".
  const std::string& type() const;
  int index() const noexcept { return index_; }
  bool is_cpu() const noexcept { return backend_ == 0; }
  /// "acme:1"; the CPU is "cpu". Parses back to the same device.
  std::string str() const;

  /// Number of the backend in this process: 0 is the CPU.
  int backend_id() const noexcept { return backend_; }

  friend bool operator==(const Device&, const Device&) noexcept = default;

 private:
  friend class DeviceAccess;
  int16_t backend_ = 0;
  int16_t index_ = 0;
};

FERRY_API std::ostream& operator<<(std::ostream& out, const Device& device);

enum class DeviceKind { kOther, kCpu, kIntegratedGpu, kGpu, kAccelerator, kSimulated };

/// What a plugin says of a device. Texts are empty and numbers 0 where unknown.
struct DeviceProperties {
  Device device;
  DeviceKind kind = DeviceKind::kOther;
  std::string name, vendor, uuid, pci, arch, driver;
  uint64_t total_memory = 0;  ///< bytes
  bool has_capability = false;
  int capability_major = 0, capability_minor = 0;
  int compute_units = 0;
  int warp_size = 0;
  std::string plugin_file;  ///< where its code comes from
  /// Its number with its plugin; another one than the device's index where
  /// FERRY_VISIBLE_DEVICES numbers them again.
  int plugin_index = 0;
  /// The first device that is the same hardware by UUID or PCI address, where
  /// this is a second route to it through another backend.
  std::optional<Device> same_as;
};

// All questions below, and the use of any device, throw the same
// InvalidArgument or UnavailableError each time where FERRY_VISIBLE_DEVICES
// cannot be honoured; load_report() alone does not.

/// Every device found, the CPU first, then by backend. Loads the plugins on
/// first use; any thread. Creates no driver context.
FERRY_API std::vector<DeviceProperties> devices();
/// Properties of one device.
FERRY_API DeviceProperties device_properties(const Device& device);
/// Whether a backend (or alias) has at least one device here. Never throws for
/// an unknown name.
FERRY_API bool is_available(std::string_view backend);
/// How many devices a backend (or alias) has; 0 for an unknown name. "gpu"
/// counts hardware that two backends offer once.
FERRY_API int device_count(std::string_view backend);

/// The device that FERRY_DEVICE names: the first available of its list, or the
/// CPU when it is not set. UnavailableError when none of the list is here.
FERRY_API Device default_device();

/// The devices of a list, in its order: "acme:0,2;other", "acme:0-3;!acme:1",
/// "acme:uuid=GPU-1f", "all", "none". The grammar is that of
/// FERRY_VISIBLE_DEVICES, in docs/choosing-a-device.md.
/// InvalidArgument: not of this form, or a device is named twice.
/// UnavailableError: no such device here. The text underlines the wrong term.
FERRY_API std::vector<Device> parse_devices(std::string_view text);

/// Takes the place of FERRY_VISIBLE_DEVICES for this process. InvalidArgument
/// for a wrong form, and after the first use of a device. What is not here is an
/// error of that first use.
FERRY_API void set_visible_devices(std::string_view list);

/// One line of the load report: a file that was looked at as a plugin.
struct LoadReportEntry {
  std::string file;
  std::string found_by;  ///< "FERRY_PLUGIN_PATH", "beside libferry", ...
  std::string code;      ///< "F000": loaded; see docs/plugins.md
  std::string text;      ///< the reason, in the system's or plugin's own words
  std::string remedy;    ///< what to do, when something can be done
  std::string backend;   ///< its name, when the descriptor could be read
  std::string version;
  int devices = 0;
  double milliseconds = 0;
};
/// Everything that was looked at, in order. Loads the plugins on first use.
FERRY_API std::vector<LoadReportEntry> load_report();

/// Adds a folder of plugins, or one plugin, to be looked at before all others.
/// Any thread. InvalidArgument for a relative path, and after the first use of
/// a device, when the plugins are loaded.
FERRY_API void add_plugin_path(const std::string& path);

}  // namespace ferry

#endif  // FERRY_DEVICE_H
