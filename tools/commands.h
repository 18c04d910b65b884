// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `ferry`, and what they say alike.
#ifndef FERRY_TOOLS_COMMANDS_H
#define FERRY_TOOLS_COMMANDS_H

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "ferry/device.h"

namespace ferry::tools {

/// What a subcommand does once its options are parsed; returns the exit status.
using Action = std::function<int()>;

// Each adds one subcommand to `app`, which sets `action` when it is chosen.
void add_devices_command(CLI::App& app, Action& action);
void add_doctor_command(CLI::App& app, Action& action);
void add_demo_command(CLI::App& app, Action& action);
void add_memory_command(CLI::App& app, Action& action);
void add_verify_command(CLI::App& app, Action& action);

/// The table of all devices, and below it the plugins that are not usable.
std::string devices_text();

/// An environment variable; absent when it is not set or empty.
std::optional<std::string> environment(const char* name);

/// The default device, or why there is none.
struct DefaultDevice {
  std::optional<Device> device;
  std::string error;
  /// "FERRY_DEVICE=sim:1" or "FERRY_DEVICE is not set".
  std::string chosen_by;
};
DefaultDevice find_default_device();

/// Whether the plugin of this line was loaded.
bool is_loaded(const LoadReportEntry& entry);
/// The lines of text on one plugin: code, file, reason and remedy.
std::string plugin_text(const LoadReportEntry& entry);
nlohmann::ordered_json to_json(const LoadReportEntry& entry);
nlohmann::ordered_json to_json(const DefaultDevice& choice);
/// Prints JSON; text that is not UTF-8 is mended.
void print_json(const nlohmann::ordered_json& json);

}  // namespace ferry::tools

#endif  // FERRY_TOOLS_COMMANDS_H
