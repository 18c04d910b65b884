// SPDX-License-Identifier: Apache-2.0
//
// What the subcommands share: the default device and the lines on a plugin.
#include "commands.h"

#include <fmt/format.h>

#include <cstdlib>

#include "ferry/error.h"
#include "table.h"

namespace ferry::tools {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

DefaultDevice find_default_device() {
  DefaultDevice choice;
  const auto value = environment("FERRY_DEVICE");
  choice.chosen_by = value ? "FERRY_DEVICE=" + *value : "FERRY_DEVICE is not set";
  try {
    choice.device = default_device();
  } catch (const Error& error) {
    choice.error = error.what();
  }
  return choice;
}

bool is_loaded(const LoadReportEntry& entry) { return entry.code == "F000"; }

std::string plugin_text(const LoadReportEntry& entry) {
  std::string out = fmt::format("  [{}] {}\n", printable(entry.code), printable(entry.file));
  if (is_loaded(entry)) {
    out += wrapped(
        fmt::format("backend {} {}, {} {}, {:.1f} ms", entry.backend, entry.version, entry.devices,
                    entry.devices == 1 ? "device" : "devices", entry.milliseconds),
        9);
  }
  if (!entry.text.empty()) out += wrapped(entry.text, 9);
  if (!entry.remedy.empty()) out += wrapped("remedy: " + entry.remedy, 9);
  out += wrapped("found by: " + entry.found_by, 9);
  return out;
}

nlohmann::ordered_json to_json(const LoadReportEntry& entry) {
  return {{"file", entry.file},
          {"found_by", entry.found_by},
          {"code", entry.code},
          {"text", entry.text},
          {"remedy", entry.remedy},
          {"backend", entry.backend},
          {"version", entry.version},
          {"devices", entry.devices},
          {"milliseconds", entry.milliseconds}};
}

nlohmann::ordered_json to_json(const DefaultDevice& choice) {
  nlohmann::ordered_json json;
  json["device"] = nullptr;
  if (choice.device) json["device"] = choice.device->str();
  json["chosen_by"] = choice.chosen_by;
  if (!choice.error.empty()) json["error"] = choice.error;
  return json;
}

void print_json(const nlohmann::ordered_json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace ferry::tools
