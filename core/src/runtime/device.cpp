// SPDX-License-Identifier: Apache-2.0
//
// The public questions about devices, answered from the registry.
#include "ferry/device.h"

#include <ostream>
#include <string>

#include <fmt/format.h>

#include "ferry/error.h"
#include "runtime/device_access.h"
#include "runtime/device_list.h"
#include "runtime/pick_devices.h"
#include "runtime/registry.h"
#include "runtime/selection.h"

namespace ferry {
namespace {

using runtime::BackendEntry;
using runtime::Registry;

DeviceKind kind_of(uint32_t kind) {
  switch (kind) {
    case FERRY_KIND_CPU:
      return DeviceKind::kCpu;
    case FERRY_KIND_GPU_INTEGRATED:
      return DeviceKind::kIntegratedGpu;
    case FERRY_KIND_GPU:
      return DeviceKind::kGpu;
    case FERRY_KIND_ACCELERATOR:
      return DeviceKind::kAccelerator;
    case FERRY_KIND_SIMULATED:
      return DeviceKind::kSimulated;
    default:
      return DeviceKind::kOther;
  }
}

DeviceProperties properties_of(const BackendEntry& entry, int index) {
  const ferry_device_info& info = entry.infos[static_cast<size_t>(index)];
  DeviceProperties p;
  p.device = DeviceAccess::make(entry.id, index);
  p.kind = kind_of(info.kind);
  p.name = info.name;
  p.vendor = info.vendor;
  p.uuid = info.uuid;
  p.pci = info.pci;
  p.arch = info.arch;
  p.driver = info.driver;
  p.total_memory = info.memory_total;
  p.has_capability = (info.caps & FERRY_CAP_CAPABILITY_VALID) != 0;
  if (p.has_capability) {
    p.capability_major = static_cast<int>(info.capability_major);
    p.capability_minor = static_cast<int>(info.capability_minor);
  }
  p.compute_units = static_cast<int>(info.compute_units);
  p.warp_size = static_cast<int>(info.warp_size);
  p.plugin_file = entry.file;
  p.plugin_index = index;
  if (!entry.plugin_indices.empty()) {
    p.plugin_index = static_cast<int>(entry.plugin_indices[static_cast<size_t>(index)]);
  }
  p.same_as = entry.same_as[static_cast<size_t>(index)];
  return p;
}

}  // namespace

Device::Device(std::string_view text)
    : Device(runtime::resolve(runtime::parse_term(text, "Device"), "Device")) {}

Device::Device(std::string_view backend, int index)
    : Device(fmt::format("{}:{}", backend, index)) {}

const std::string& Device::type() const {
  // The CPU's name is known without loading anything.
  static const auto* const cpu = new std::string("cpu");
  return is_cpu() ? *cpu : Registry::get().backends()[static_cast<size_t>(backend_)]->name;
}

std::string Device::str() const {
  if (is_cpu() && index_ == 0) return "cpu";
  return type() + ":" + std::to_string(index_);
}

std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }

std::vector<DeviceProperties> devices() {
  std::vector<DeviceProperties> list;
  for (const auto& entry : Registry::get_for_question().backends()) {
    for (size_t i = 0; i < entry->infos.size(); ++i) {
      list.push_back(properties_of(*entry, static_cast<int>(i)));
    }
  }
  return list;
}

DeviceProperties device_properties(const Device& device) {
  const Registry& registry = Registry::get();
  const BackendEntry& entry = *registry.backends()[static_cast<size_t>(device.backend_id())];
  // Only the default-made CPU can be absent: other devices were found before.
  if (static_cast<size_t>(device.index()) >= entry.infos.size()) {
    throw UnavailableError("device_properties", registry.explain_absence(entry.name));
  }
  return properties_of(entry, device.index());
}

bool is_available(std::string_view backend) {
  if (backend == "auto") return device_count("gpu") > 0 || device_count("cpu") > 0;
  return device_count(backend) > 0;
}

int device_count(std::string_view backend) {
  const Registry& registry = Registry::get_for_question();
  if (backend == "gpu") return runtime::count_accelerators();
  const BackendEntry* entry = registry.find(backend);
  return entry == nullptr ? 0 : static_cast<int>(entry->infos.size());
}

Device default_device() {
  (void)Registry::get_for_question();
  return runtime::choose_default_device();
}

std::vector<Device> parse_devices(std::string_view text) {
  const Registry& registry = Registry::get_for_question();
  std::vector<Device> list;
  for (const runtime::Picked& picked :
       runtime::pick_devices(runtime::parse_device_list(text, "parse_devices"), registry)) {
    list.push_back(DeviceAccess::make(picked.backend, static_cast<int>(picked.index)));
  }
  return list;
}

void set_visible_devices(std::string_view list) { Registry::set_visible(list); }

std::vector<LoadReportEntry> load_report() { return Registry::get_for_report().report(); }

void add_plugin_path(const std::string& path) { Registry::add_path(path); }

}  // namespace ferry
