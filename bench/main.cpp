// SPDX-License-Identifier: Apache-2.0
//
// ferry-bench: the benchmarks by group, each number beside a peer's.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "groups.h"

namespace {

struct Group {
  const char* name;
  void (*run)();
  /// Settings of the simulator that it needs, unless they are set already.
  std::vector<std::pair<const char*, const char*>> environment;
};

const Group kGroups[] = {
    {"boundary", ferry::bench::bench_boundary, {}},
    {"start", ferry::bench::bench_start, {}},
    {"memory", ferry::bench::bench_memory, {{"FERRY_SIM_MEMORY", "2G"}}},
    {"staging",
     ferry::bench::bench_staging,
     {{"FERRY_SIM_MEMORY", "2G"}, {"FERRY_SIM_BANDWIDTH", "2G"}, {"FERRY_SIM_PEER", "off"}}},
    {"module",
     ferry::bench::bench_module,
     {{"FERRY_SIM_MEMORY", "2G"}, {"FERRY_SIM_LATENCY_US", "10"}}},
    {"operations", ferry::bench::bench_operations, {}},
};

int usage(const char* program) {
  std::fprintf(stderr,
               "Usage: %s [--rounds N] [--only TEXT] [GROUP...]\n"
               "Groups, all when none is named:",
               program);
  for (const Group& g : kGroups) std::fprintf(stderr, " %s", g.name);
  std::fprintf(stderr, "\n");
  return 2;
}

/// Runs one group in a process of its own, because the simulator reads its
/// settings once. Returns whether it ran to its end.
bool run(const Group& group) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    for (const auto& [name, value] : group.environment) setenv(name, value, 0);
    try {
      group.run();
      std::printf("  (%d goals missed)\n", ferry::bench::missed());
      std::exit(0);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      std::exit(1);
    }
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--rounds" && i + 1 < argc) {
      ferry::bench::settings().rounds = std::atoi(argv[++i]);
      if (ferry::bench::settings().rounds < 1) return usage(argv[0]);
    } else if (word == "--only" && i + 1 < argc) {
      ferry::bench::settings().only = argv[++i];
    } else {
      const auto named = [&](const Group& g) { return word == g.name; };
      if (std::none_of(std::begin(kGroups), std::end(kGroups), named)) return usage(argv[0]);
      wanted.push_back(word);
    }
  }
  bool all_ran = true;
  for (const Group& g : kGroups) {
    const bool chosen = wanted.empty() || std::count(wanted.begin(), wanted.end(), g.name) > 0;
    if (chosen) all_ran = run(g) && all_ran;
  }
  return all_ran ? 0 : 1;
}
