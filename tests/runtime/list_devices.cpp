// SPDX-License-Identifier: Apache-2.0
//
// A host program for the loader's tests: the registry is made once a process,
// so each case runs in a process of its own and prints JSON, a line each.
//
//   list_devices COMMAND [argument]...
#include <barrier>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "ferry/device.h"
#include "ferry/error.h"
#include "ferry/log.h"
#include "ferry/memory.h"

namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

void print(const Json& line) { std::cout << line.dump() << '\n'; }

/// Runs `f`; prints what it returns, or which exception it threw.
void print_result(const std::function<Json()>& f) {
  Json line;
  try {
    line = f();
  } catch (const ferry::InvalidArgument& e) {
    line = {{"error", "InvalidArgument"}, {"text", e.what()}};
  } catch (const ferry::UnavailableError& e) {
    line = {{"error", "UnavailableError"}, {"text", e.what()}};
  } catch (const ferry::Error& e) {
    line = {{"error", "Error"}, {"text", e.what()}};
  }
  print(line);
}

Json json_of(const ferry::Device& device) {
  return {{"str", device.str()},
          {"type", device.type()},
          {"index", device.index()},
          {"is_cpu", device.is_cpu()},
          {"parses_back", ferry::Device(device.str()) == device}};
}

void report(const Arguments&) {
  for (const ferry::LoadReportEntry& e : ferry::load_report()) {
    print({{"file", e.file},
           {"found_by", e.found_by},
           {"code", e.code},
           {"text", e.text},
           {"remedy", e.remedy},
           {"backend", e.backend},
           {"version", e.version},
           {"devices", e.devices},
           {"milliseconds", e.milliseconds}});
  }
}

void devices(const Arguments&) {
  for (const ferry::DeviceProperties& p : ferry::devices()) {
    print({{"device", p.device.str()},
           {"kind", static_cast<int>(p.kind)},
           {"name", p.name},
           {"arch", p.arch},
           {"driver", p.driver},
           {"total_memory", p.total_memory},
           {"uuid", p.uuid},
           {"plugin_index", p.plugin_index},
           {"same_as", p.same_as ? p.same_as->str() : ""},
           {"plugin_file", p.plugin_file}});
  }
}

void device(const Arguments& arguments) {
  for (const std::string& text : arguments) {
    print_result([&] { return json_of(ferry::Device(text)); });
  }
}

void pair(const Arguments& arguments) {
  print_result([&] { return json_of(ferry::Device(arguments.at(0), std::stoi(arguments.at(1)))); });
}

void default_device(const Arguments&) {
  print_result([] { return json_of(ferry::default_device()); });
  // A later change of the environment is not seen.
  setenv("FERRY_DEVICE", "nosuch", 1);
  print_result([] { return json_of(ferry::default_device()); });
}

void available(const Arguments& arguments) {
  for (const std::string& name : arguments) {
    print({{"name", name},
           {"available", ferry::is_available(name)},
           {"count", ferry::device_count(name)}});
  }
}

/// The devices of each list.
void parse(const Arguments& arguments) {
  for (const std::string& text : arguments) {
    print_result([&] {
      Json names = Json::array();
      for (const ferry::Device& device : ferry::parse_devices(text)) names.push_back(device.str());
      return Json{{"devices", names}};
    });
  }
}

/// What each question about devices throws, twice; then the report's length.
void questions(const Arguments&) {
  for (int i = 0; i < 2; ++i) {
    print_result([] { return Json{{"devices", ferry::devices().size()}}; });
    print_result([] { return Json{{"available", ferry::is_available("nosuch")}}; });
    print_result([] { return Json{{"count", ferry::device_count("cpu")}}; });
    print_result([] { return json_of(ferry::Device("cpu")); });
    print_result([] { return json_of(ferry::default_device()); });
    print_result([] { return Json{{"name", ferry::device_properties(ferry::Device()).name}}; });
    print_result([] { return Json{{"list", ferry::parse_devices("all").size()}}; });
    print_result([] { return Json{{"total", ferry::mem_get_info(ferry::Device()).total}}; });
  }
  print({{"lines", ferry::load_report().size()}});
}

/// Sets the list by a call, lists the devices, and tries once more.
void set_visible(const Arguments& arguments) {
  const auto set = [&] {
    ferry::set_visible_devices(arguments.at(0));
    return Json{{"set", arguments.at(0)}};
  };
  print_result(set);
  print_result([] { return Json{{"devices", ferry::devices().size()}}; });
  print_result(set);
}

/// Sets each NAME=VALUE after the first use; prints the warnings.
void change(const Arguments& arguments) {
  ferry::set_log_callback(
      [](ferry::LogLevel, std::string_view component, std::string_view text) {
        print({{"component", component}, {"text", text}});
      },
      ferry::LogLevel::kWarn);
  const size_t before = ferry::devices().size();
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    setenv(argument.substr(0, equals).c_str(), argument.substr(equals + 1).c_str(), 1);
  }
  for (int i = 0; i < 3; ++i) (void)ferry::default_device();
  print({{"before", before}, {"after", ferry::devices().size()}});
}

/// Everything of the listing, and nothing printed.
void quiet(const Arguments&) {
  for (const ferry::DeviceProperties& p : ferry::devices())
    (void)ferry::device_properties(p.device);
  if (ferry::load_report().empty()) std::exit(3);
  try {
    (void)ferry::Device("nosuch:1");
    std::exit(4);
  } catch (const ferry::UnavailableError&) {
  }
}

/// Opens the devices, after everything that must not.
void open(const Arguments& arguments) {
  quiet({});
  (void)ferry::parse_devices("all");
  std::cerr << "now opening\n";
  for (const std::string& name : arguments) {
    print_result([&] { return Json{{"total", ferry::mem_get_info(name).total}}; });
  }
}

/// First use from many threads at once; all must see the same.
void threads(const Arguments&) {
  constexpr int kThreads = 16;
  std::barrier start(kThreads);
  std::vector<std::string> seen(kThreads);
  std::vector<std::thread> pool;
  for (int t = 0; t < kThreads; ++t) {
    pool.emplace_back([&, t] {
      start.arrive_and_wait();
      const auto lines = static_cast<size_t>(ferry::device_count("acme")) * 1000;
      seen[static_cast<size_t>(t)] =
          std::to_string(lines + ferry::load_report().size()) + " " + ferry::Device("acme:1").str();
    });
  }
  for (std::thread& thread : pool) thread.join();
  print({{"seen", seen}});
}

/// A callback that uses Ferry itself, from the first use on.
void log(const Arguments&) {
  std::mutex mutex;
  std::map<std::string, int> components;
  size_t devices = 0;
  ferry::set_log_callback(
      [&](ferry::LogLevel, std::string_view component, std::string_view text) {
        const size_t now = ferry::devices().size();
        const std::lock_guard lock(mutex);
        devices = now;
        ++components[std::string(component)];
        print({{"component", component}, {"text", text}});
        throw std::runtime_error("a callback may throw");
      },
      ferry::LogLevel::kDebug);
  const size_t expected = ferry::devices().size();
  ferry::set_log_callback({});
  print({{"devices", devices}, {"expected", expected}, {"components", components}});
}

/// Added paths, then one that is too late.
void add_path(const Arguments& arguments) {
  for (const std::string& path : arguments) {
    print_result([&] {
      ferry::add_plugin_path(path);
      return Json{{"added", path}};
    });
  }
  report({});
  print_result([] {
    ferry::add_plugin_path("/late");
    return Json{{"added", "/late"}};
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(const Arguments&)> commands = {{"report", report},
                                                                      {"devices", devices},
                                                                      {"device", device},
                                                                      {"pair", pair},
                                                                      {"default", default_device},
                                                                      {"available", available},
                                                                      {"quiet", quiet},
                                                                      {"threads", threads},
                                                                      {"log", log},
                                                                      {"add_path", add_path},
                                                                      {"parse", parse},
                                                                      {"questions", questions},
                                                                      {"set_visible", set_visible},
                                                                      {"open", open},
                                                                      {"change", change}};
  const auto command = argc < 2 ? commands.end() : commands.find(argv[1]);
  if (command == commands.end()) {
    std::cerr << "usage: list_devices COMMAND [argument]...\n";
    return 2;
  }
  command->second(Arguments(argv + 2, argv + argc));
  return 0;
}
