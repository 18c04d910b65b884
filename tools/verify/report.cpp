// SPDX-License-Identifier: Apache-2.0
//
// Outcomes, the table and the JSON.
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "../table.h"
#include "ferry/error.h"

namespace ferry::verify {
namespace {

constexpr const char* kOutcomes[] = {"pass", "fail", "n/a", "xfail", "xpass"};

size_t count_of(const std::vector<Line>& lines, const std::string& outcome) {
  return static_cast<size_t>(std::count_if(
      lines.begin(), lines.end(), [&](const Line& line) { return line.outcome == outcome; }));
}

}  // namespace

Expected read_expected(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw InvalidArgument("[verify] cannot read the list of expected failures " + file);
  Expected out;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const size_t end = line.find_first_of(" \t", begin);
    const size_t reason = end == std::string::npos ? end : line.find_first_not_of(" \t\r", end);
    if (reason == std::string::npos) {
      throw InvalidArgument(fmt::format(
          "[verify] line {} of {} is '{}', not a check, a space and a reason", number, file, line));
    }
    out[line.substr(begin, end - begin)] = line.substr(reason);
  }
  return out;
}

Line line_of(const std::string& check, const Result& result, const Expected& expected) {
  Line line{check, "pass", result.text, result.seconds};
  if (result.ending == Ending::kNotApplicable) line.outcome = "n/a";
  if (result.ending == Ending::kFail) line.outcome = "fail";
  const auto known = expected.find(check);
  if (known == expected.end()) return line;
  if (line.outcome == "fail") {
    line.outcome = "xfail";
    line.text = fmt::format("{} (seen: {})", known->second, result.text);
  } else if (line.outcome == "pass") {
    line.outcome = "xpass";
    line.text = "passes, and was expected to fail: " + known->second;
  }
  return line;
}

bool all_well(const std::vector<Line>& lines) {
  return count_of(lines, "fail") + count_of(lines, "xpass") == 0;
}

std::string table_of(const std::vector<Line>& lines) {
  using Kind = tools::Column::Kind;
  tools::Table table({{"Check"}, {"Outcome"}, {"Seconds", Kind::kNumber}});
  std::string out, failures, reasons;
  for (const Line& line : lines) {
    table.add({line.check, line.outcome, fmt::format("{:.2f}", line.seconds)});
    if (line.text.empty() || line.outcome == "pass") continue;
    std::string& where = line.outcome == "n/a" || line.outcome == "xfail" ? reasons : failures;
    where += fmt::format("  {} {}\n{}", line.outcome, line.check,
                         tools::wrapped(tools::printable(line.text), 6));
  }
  out = table.str();
  if (!reasons.empty()) out += "\nNot applicable, or expected to fail:\n" + reasons;
  if (!failures.empty()) out += "\nFailures:\n" + failures;
  std::string counts;
  for (const char* outcome : kOutcomes) {
    const size_t count = count_of(lines, outcome);
    if (count > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, outcome);
  }
  return out + "\n" + (counts.empty() ? "no check was chosen" : counts) + "\n";
}

nlohmann::ordered_json json_of(const std::string& plugin, const std::vector<Line>& lines,
                               double seconds) {
  nlohmann::ordered_json json;
  json["plugin"] = plugin;
  json["ok"] = all_well(lines);
  json["seconds"] = seconds;
  for (const char* outcome : kOutcomes) json["counts"][outcome] = count_of(lines, outcome);
  json["checks"] = nlohmann::ordered_json::array();
  for (const Line& line : lines) {
    json["checks"].push_back({{"check", line.check},
                              {"outcome", line.outcome},
                              {"text", line.text},
                              {"seconds", line.seconds}});
  }
  return json;
}

}  // namespace ferry::verify
