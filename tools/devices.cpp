// SPDX-License-Identifier: Apache-2.0
//
// `ferry devices`: what this machine offers, in strings that paste back.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "commands.h"
#include "ferry/error.h"
#include "ferry/memory.h"
#include "table.h"

namespace ferry::tools {
namespace {

const char* kind_name(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kIntegratedGpu:
      return "integrated gpu";
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kAccelerator:
      return "accelerator";
    case DeviceKind::kSimulated:
      return "simulated";
    case DeviceKind::kOther:
      break;
  }
  return "other";
}

// Memory now; of a device that does not open, only the total that its plugin
// tells, and the reason.
struct Memory {
  MemoryInfo info;
  std::string error;
};
Memory memory_of(const DeviceProperties& properties) {
  Memory memory{{0, properties.total_memory}, ""};
  try {
    memory.info = mem_get_info(properties.device);
  } catch (const Error& error) {
    memory.error = error.what();
  }
  return memory;
}

std::string capability(const DeviceProperties& p) {
  return p.has_capability ? fmt::format("{}.{}", p.capability_major, p.capability_minor) : "-";
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

nlohmann::ordered_json device_json(const DeviceProperties& p) {
  const Memory memory = memory_of(p);
  nlohmann::ordered_json json = {{"device", p.device.str()},
                                 {"kind", kind_name(p.kind)},
                                 {"name", p.name},
                                 {"vendor", p.vendor},
                                 {"memory_total", memory.info.total},
                                 {"memory_free", memory.info.free},
                                 {"capability", nullptr},
                                 {"compute_units", p.compute_units},
                                 {"warp_size", p.warp_size},
                                 {"arch", p.arch},
                                 {"driver", p.driver},
                                 {"uuid", p.uuid},
                                 {"pci", p.pci},
                                 {"plugin", p.plugin_file}};
  if (p.has_capability) json["capability"] = capability(p);
  if (!memory.error.empty()) json["error"] = memory.error;
  return json;
}

int print_devices_json() {
  const DefaultDevice choice = find_default_device();
  nlohmann::ordered_json json;
  json["default"] = to_json(choice);
  json["devices"] = nlohmann::ordered_json::array();
  for (const DeviceProperties& p : devices()) json["devices"].push_back(device_json(p));
  json["unusable_plugins"] = nlohmann::ordered_json::array();
  for (const LoadReportEntry& entry : load_report()) {
    if (!is_loaded(entry)) json["unusable_plugins"].push_back(to_json(entry));
  }
  print_json(json);
  return choice.device ? 0 : 1;
}

int print_devices() {
  fmt::print("{}", devices_text());
  const DefaultDevice choice = find_default_device();
  if (!choice.device) {
    std::fflush(stdout);
    fmt::print(stderr, "ferry: {}\n", choice.error);
    return 1;
  }
  fmt::print("\nDefault device: {} ({})\n", choice.device->str(), printable(choice.chosen_by));
  return 0;
}

}  // namespace

std::string devices_text() {
  using Kind = Column::Kind;
  Table table({{"Device"},
               {"Name", Kind::kLong},
               {"Vendor", Kind::kLong},
               {"Memory", Kind::kNumber},
               {"Free", Kind::kNumber},
               {"Capability", Kind::kNumber},
               {"Units", Kind::kNumber},
               {"Plugin", Kind::kLong}});
  std::string trouble;
  for (const DeviceProperties& p : devices()) {
    const Memory memory = memory_of(p);
    table.add({p.device.str(), or_dash(p.name), or_dash(p.vendor), bytes_text(memory.info.total),
               bytes_text(memory.info.free), capability(p),
               p.compute_units > 0 ? std::to_string(p.compute_units) : "-",
               or_dash(std::filesystem::path(p.plugin_file).filename().string())});
    if (!memory.error.empty()) {
      trouble += wrapped(fmt::format("{} does not open: {}", p.device.str(), memory.error), 2);
    }
  }
  std::string out = table.str();
  if (!trouble.empty()) out += "\n" + trouble;
  std::string unusable;
  for (const LoadReportEntry& entry : load_report()) {
    if (!is_loaded(entry)) unusable += plugin_text(entry);
  }
  if (!unusable.empty()) out += "\nPlugins that are not usable:\n" + unusable;
  return out;
}

void add_devices_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "devices", "List the devices of this machine and the plugins that are not usable");
  const CLI::Option* json = command->add_flag("--json")->description("Print JSON");
  command->callback([&action, json] {
    const bool as_json = json->count() > 0;
    action = [as_json] { return as_json ? print_devices_json() : print_devices(); };
  });
}

}  // namespace ferry::tools
