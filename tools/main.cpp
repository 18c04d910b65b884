// SPDX-License-Identifier: Apache-2.0
//
// The `ferry` command: parses the command line, runs one subcommand and turns
// errors into a line of text and an exit status.
#include <clocale>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "commands.h"
#include "ferry/log.h"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// Warnings, such as an operation that fell back to the CPU, go to stderr;
// FERRY_LOG makes the library itself write them, and more. Those of loading the
// plugins are left out: every subcommand prints the load report.
void show_warnings() {
  if (ferry::tools::environment("FERRY_LOG")) return;
  ferry::load_report();
  ferry::set_log_callback(
      [](ferry::LogLevel, std::string_view component, std::string_view text) {
        const std::string line = std::string(component) + ": " + std::string(text);
        std::fprintf(stderr, "ferry: warning: %s\n", line.c_str());
      },
      ferry::LogLevel::kWarn);
}

int run(const ferry::tools::Action& action, bool loads_plugins) {
  int status = kFailed;
  try {
    if (loads_plugins) show_warnings();
    status = action();
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "ferry: %s\n", error.what());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "ferry: cannot write to standard output\n");
    return kFailed;
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  // Only how characters are encoded; numbers keep their form.
  std::setlocale(LC_CTYPE, "");

  CLI::App app("One program, whatever accelerator it finds", "ferry");
  ferry::tools::Action action;
  app.set_version_flag("--version", "ferry " FERRY_VERSION);
  app.require_subcommand(1);
  ferry::tools::add_devices_command(app, action);
  ferry::tools::add_doctor_command(app, action);
  ferry::tools::add_demo_command(app, action);
  ferry::tools::add_memory_command(app, action);
  ferry::tools::add_verify_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "ferry: %s\n\n%s", error.what(), app.help().c_str());
    return kWrongUsage;
  }
  // verify loads its plugin in child processes only.
  return run(action, !app.got_subcommand("verify"));
}
