// SPDX-License-Identifier: Apache-2.0
//
// `ferry doctor`: every file looked at as a plugin with its verdict, whether
// each device computes, and the variables that had a say.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"
#include "ferry/error.h"
#include "ferry/memory.h"
#include "ferry/ops.h"
#include "table.h"

namespace ferry::tools {
namespace {

constexpr std::array kVariables = {"FERRY_DEVICE",
                                   "FERRY_VISIBLE_DEVICES",
                                   "FERRY_PLUGIN_PATH",
                                   "FERRY_FALLBACK",
                                   "FERRY_LOG",
                                   "FERRY_NUM_THREADS",
                                   "CUDA_VISIBLE_DEVICES",
                                   "HIP_VISIBLE_DEVICES",
                                   "ROCR_VISIBLE_DEVICES",
                                   "LD_LIBRARY_PATH"};

// The known variables in order, then the others that begin with FERRY_, which
// are a plugin's options or misspelt.
std::vector<std::pair<std::string, std::optional<std::string>>> variables() {
  std::vector<std::pair<std::string, std::optional<std::string>>> out;
  for (const char* name : kVariables) out.emplace_back(name, environment(name));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.substr(0, 6) != "FERRY_") continue;
    const std::string name(text.substr(0, text.find('=')));
    const auto is_name = [&](const char* known) { return name == known; };
    if (std::none_of(kVariables.begin(), kVariables.end(), is_name)) {
      out.emplace_back(name, environment(name.c_str()));
    }
  }
  return out;
}

struct Check {
  Device device;
  std::string error;  ///< empty: works
  double milliseconds = 0;
};

// Copies numbers to the device, computes with them there and copies them back.
Check check(const Device& device) {
  Check result{device, "", 0};
  const auto start = std::chrono::steady_clock::now();
  try {
    const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
    const Tensor x = tensor(values, {8}).to(device);
    const std::vector<float> doubled = (x + x).to_vector<float>();
    synchronize(device);
    for (size_t i = 0; i < values.size(); ++i) {
      if (doubled[i] == values[i] + values[i]) continue;
      result.error =
          fmt::format("computes wrongly: {} + {} gave {}", values[i], values[i], doubled[i]);
      break;
    }
  } catch (const Error& error) {
    result.error = error.what();
  }
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  result.milliseconds = time.count();
  return result;
}

struct Findings {
  std::vector<LoadReportEntry> plugins;
  std::vector<Check> checks;
  DefaultDevice choice;

  size_t loaded() const {
    return static_cast<size_t>(std::count_if(plugins.begin(), plugins.end(), is_loaded));
  }
  size_t working() const {
    return static_cast<size_t>(std::count_if(checks.begin(), checks.end(),
                                             [](const Check& c) { return c.error.empty(); }));
  }
  bool cpu_works() const {
    return std::any_of(checks.begin(), checks.end(),
                       [](const Check& c) { return c.device.is_cpu() && c.error.empty(); });
  }
  std::string summary() const {
    return fmt::format("{} of {} devices work, {} of {} plugins loaded{}", working(), checks.size(),
                       loaded(), plugins.size(), cpu_works() ? "" : "; the CPU does not work");
  }
};

void print_findings(const Findings& findings) {
  fmt::print("{}\n", headline("Plugins"));
  for (const LoadReportEntry& entry : findings.plugins) fmt::print("{}", plugin_text(entry));
  if (findings.plugins.empty()) fmt::print("  no file was found to look at\n");

  fmt::print("\n{}\n", headline("Devices"));
  Table table({{"  Device"}, {"First use", Column::Kind::kNumber}, {"Verdict"}});
  std::string trouble;
  for (const Check& c : findings.checks) {
    table.add({"  " + c.device.str(), fmt::format("{:.1f} ms", c.milliseconds),
               c.error.empty() ? "works" : "fails"});
    if (!c.error.empty()) trouble += wrapped(c.device.str() + ": " + c.error, 2);
  }
  fmt::print("{}{}", table.str(), trouble);

  fmt::print("\n{}\n", headline("Environment"));
  for (const auto& [name, value] : variables()) {
    fmt::print("  {:<22}  {}\n", printable(name), value ? printable(*value) : "not set");
  }

  fmt::print("\n{}\n", headline("Summary"));
  if (findings.choice.device) {
    fmt::print("  default device {} ({})\n", findings.choice.device->str(),
               printable(findings.choice.chosen_by));
  } else {
    fmt::print("{}", wrapped("no default device: " + findings.choice.error, 2));
  }
  fmt::print("  {}\n", findings.summary());
}

void print_findings_json(const Findings& findings) {
  nlohmann::ordered_json json;
  json["plugins"] = nlohmann::ordered_json::array();
  for (const LoadReportEntry& entry : findings.plugins) json["plugins"].push_back(to_json(entry));
  json["devices"] = nlohmann::ordered_json::array();
  for (const Check& c : findings.checks) {
    json["devices"].push_back({{"device", c.device.str()},
                               {"works", c.error.empty()},
                               {"error", c.error},
                               {"milliseconds", c.milliseconds}});
  }
  for (const auto& [name, value] : variables()) {
    json["environment"][name] = nullptr;
    if (value) json["environment"][name] = *value;
  }
  json["default"] = to_json(findings.choice);
  json["cpu_works"] = findings.cpu_works();
  json["summary"] = findings.summary();
  print_json(json);
}

int run_doctor(bool as_json) {
  Findings findings;
  findings.plugins = load_report();
  for (const DeviceProperties& p : devices()) findings.checks.push_back(check(p.device));
  findings.choice = find_default_device();
  if (as_json) {
    print_findings_json(findings);
  } else {
    print_findings(findings);
  }
  return findings.cpu_works() ? 0 : 1;
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Explain each plugin and device: what was found, what works, and why not");
  const CLI::Option* json = command->add_flag("--json")->description("Print JSON");
  command->footer("Exit status 0 when at least the CPU works, else 1.");
  command->callback(
      [&action, json] { action = [as_json = json->count() > 0] { return run_doctor(as_json); }; });
}

}  // namespace ferry::tools
