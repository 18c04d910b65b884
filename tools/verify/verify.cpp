// SPDX-License-Identifier: Apache-2.0
//
// `ferry verify PLUGIN`: the conformance of a plugin's binary.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "../commands.h"
#include "abi_host.h"
#include "check.h"
#include "child.h"
#include "ferry/error.h"
#include "report.h"

namespace ferry::tools {
namespace {

using verify::Check;
using verify::Line;
using verify::Result;

constexpr int kAtOnce = 3;
constexpr const char* kLevels[] = {"load", "memory", "streams", "kernels", "process"};

struct Wish {
  std::string plugin, expect_fail;
  std::vector<std::string> levels, only;
  double timeout = 60;
  bool as_json = false;
};

std::string level_of(const std::string& check) { return check.substr(0, check.find('.')); }

bool is_chosen(const Wish& wish, const std::string& check) {
  const auto has = [](const std::vector<std::string>& list, const std::string& word) {
    return list.empty() || std::find(list.begin(), list.end(), word) != list.end();
  };
  return has(wish.levels, level_of(check)) && has(wish.only, check);
}

/// The families of the plugin, one a line, found in a child.
Result families_of(const std::string& path) {
  const verify::Task task = [&] {
    std::string text;
    for (const ferry_kernel* kernel : verify::Plugin::initialised(path).kernels()) {
      if (kernel->family != nullptr) text += std::string(kernel->family) + "\n";
    }
    return text;
  };
  return verify::run_in_children({task}, 1, 30, [](size_t, const Result&) {})[0];
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(line);
    begin = end + 1;
  }
  return out;
}

/// All checks there are for this plugin, in the order of the report.
std::vector<Check> checks_for(const Wish& wish) {
  std::vector<Check> checks;
  const auto add = [&](std::vector<Check> more) {
    for (Check& check : more) checks.push_back(std::move(check));
  };
  add(verify::load_checks());
  add(verify::memory_checks());
  add(verify::stream_checks());
  const Result families = families_of(wish.plugin);
  if (families.ending == verify::Ending::kPass) {
    add(verify::kernel_checks(lines_of(families.text)));
  } else {
    const bool crashed = families.ending == verify::Ending::kFail;
    checks.push_back({"kernels.declared", [=](const std::string&) {
                        if (crashed) throw verify::Failed{families.text};
                        throw verify::NotApplicable{families.text};
                      }});
  }
  add(verify::process_checks());
  return checks;
}

/// Names in --only that this plugin has no check for: a misspelling is wrong
/// usage, a family that it does not declare is not.
void judge_names(const Wish& wish, std::vector<Check>& checks) {
  for (const std::string& name : wish.only) {
    if (std::any_of(checks.begin(), checks.end(), [&](const Check& c) { return c.id == name; })) {
      continue;
    }
    if (level_of(name) != "kernels") {
      throw InvalidArgument("[verify] --only " + name +
                            ": there is no such check; see docs/verify.md");
    }
    checks.push_back({name, [name](const std::string&) {
                        verify::not_applicable("the plugin declares no kernel for {}", name);
                      }});
  }
}

int run_verify(const Wish& wish) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Check> checks = checks_for(wish);
  verify::Expected expected;
  try {
    judge_names(wish, checks);
    if (!wish.expect_fail.empty()) expected = verify::read_expected(wish.expect_fail);
  } catch (const InvalidArgument& error) {
    fmt::print(stderr, "ferry: {}\n", error.what());
    return 2;
  }
  std::erase_if(checks, [&](const Check& check) { return !is_chosen(wish, check.id); });
  std::vector<verify::Task> tasks;
  for (const Check& check : checks) {
    tasks.push_back([&check, &wish] {
      check.run(wish.plugin);
      return std::string();
    });
  }
  const std::vector<Result> results =
      verify::run_in_children(tasks, kAtOnce, wish.timeout, [](size_t, const Result&) {});
  std::vector<Line> lines;
  for (size_t i = 0; i < checks.size(); ++i) {
    lines.push_back(verify::line_of(checks[i].id, results[i], expected));
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (wish.as_json) {
    print_json(verify::json_of(wish.plugin, lines, took.count()));
  } else {
    fmt::print("{} in {:.1f} s\n", verify::table_of(lines), took.count());
  }
  return verify::all_well(lines) ? 0 : 1;
}

}  // namespace

void add_verify_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("verify", "Check that a plugin's binary keeps the rules of the boundary");
  const auto wish = std::make_shared<Wish>();
  command->add_option("PLUGIN", wish->plugin, "The plugin's file")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_flag("--json", wish->as_json, "Print JSON");
  command->add_option("--level", wish->levels, "Only the checks of this level; may be repeated")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kLevels), std::end(kLevels))))
      ->take_all()
      ->expected(1);
  command
      ->add_option("--only", wish->only, "Only this check, such as memory.bounds; may be repeated")
      ->take_all()
      ->expected(1);
  command
      ->add_option("--expect-fail", wish->expect_fail,
                   "A file with lines `check reason`: these are expected to fail")
      ->check(CLI::ExistingFile);
  command->add_option("--timeout", wish->timeout, "Seconds that a check may take")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->callback([&action, wish] {
    action = [wish] {
      wish->plugin = std::filesystem::absolute(wish->plugin).lexically_normal().string();
      return run_verify(*wish);
    };
  });
}

}  // namespace ferry::tools
