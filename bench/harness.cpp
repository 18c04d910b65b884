// SPDX-License-Identifier: Apache-2.0
//
// Calibration, rounds in turns, medians, and the printed rows.
#include "harness.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

namespace ferry::bench {
namespace {

int missed_rows = 0;

double nanoseconds(const Candidate& candidate, int64_t n) {
  const auto start = std::chrono::steady_clock::now();
  candidate.run(n);
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count();
}

/// Runs a sample needs to last as long as the settings say.
int64_t calibrate(const Candidate& candidate) {
  candidate.run(1);  // first use: caches, pages, threads
  int64_t n = 1;
  for (;;) {
    const double time = nanoseconds(candidate, n);
    const double wanted = settings().sample_ms * 1e6;
    // Once more: the first may have been slow for another reason.
    if (time >= wanted && nanoseconds(candidate, n) >= wanted / 2) return n;
    const double factor = std::clamp(1.2 * wanted / std::max(time, 1.0), 1.5, 50.0);
    n = static_cast<int64_t>(std::ceil(static_cast<double>(n) * factor));
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string shown(double ns) {
  char text[32];
  if (ns < 1e3) {
    std::snprintf(text, sizeof text, "%.1f ns", ns);
  } else if (ns < 1e6) {
    std::snprintf(text, sizeof text, "%.2f us", ns / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%.2f ms", ns / 1e6);
  }
  return text;
}

/// The last column: the goal, and whether it was met.
std::string verdict(const Goal& goal, double ours, double best_other) {
  char text[96] = "";
  bool met = true;
  switch (goal.kind) {
    case Goal::Kind::kNone:
      break;
    case Goal::Kind::kNanoseconds:
      met = ours <= goal.limit;
      std::snprintf(text, sizeof text, "goal <= %s: %s", shown(goal.limit).c_str(),
                    met ? "met" : "MISSED");
      break;
    case Goal::Kind::kRatio:
      met = ours <= goal.limit * best_other;
      std::snprintf(text, sizeof text, "goal <= %.2fx: %s", goal.limit, met ? "met" : "MISSED");
      break;
    case Goal::Kind::kAbove:
      met = ours <= best_other + goal.limit;
      std::snprintf(text, sizeof text, "%+.1f ns, goal <= %+.1f ns: %s", ours - best_other,
                    goal.limit, met ? "met" : "MISSED");
      break;
  }
  if (!met) ++missed_rows;
  return text;
}

}  // namespace

Settings& settings() {
  static Settings value;
  return value;
}

int missed() { return missed_rows; }

void group(const std::string& title) { std::printf("\n%s\n", title.c_str()); }

void compare(const std::string& title, std::vector<Candidate> candidates, Goal goal, double bytes) {
  if (!settings().only.empty() && title.find(settings().only) == std::string::npos) return;
  std::vector<int64_t> runs;
  for (const Candidate& c : candidates) runs.push_back(calibrate(c));
  std::vector<std::vector<double>> samples(candidates.size());
  for (int round = 0; round < settings().rounds; ++round) {
    for (size_t i = 0; i < candidates.size(); ++i) {
      samples[i].push_back(nanoseconds(candidates[i], runs[i]) / static_cast<double>(runs[i]));
    }
  }
  const double ours = median(samples[0]);
  double best_other = 0;
  std::printf("  %-44s %s %s", title.c_str(), candidates[0].name.c_str(), shown(ours).c_str());
  if (bytes > 0) std::printf(" (%.1f GB/s)", bytes / ours);
  for (size_t i = 1; i < candidates.size(); ++i) {
    const double theirs = median(samples[i]);
    if (best_other == 0 || theirs < best_other) best_other = theirs;
    std::printf(" | %s %s, ratio %.2f", candidates[i].name.c_str(), shown(theirs).c_str(),
                ours / theirs);
  }
  const std::string last = verdict(goal, ours, best_other);
  std::printf("%s%s\n", last.empty() ? "" : " | ", last.c_str());
  std::fflush(stdout);
}

}  // namespace ferry::bench
