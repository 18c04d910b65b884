// SPDX-License-Identifier: Apache-2.0
//
// What came out of the checks: for people, for machines, and against the list
// of failures that are expected.
#ifndef FERRY_TOOLS_VERIFY_REPORT_H
#define FERRY_TOOLS_VERIFY_REPORT_H

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "child.h"

namespace ferry::verify {

/// Check id to the reason why it is expected to fail.
using Expected = std::map<std::string, std::string>;
/// Reads lines `check-id  reason`; empty ones and those that begin with # are
/// left out. InvalidArgument where the file or a line is not of this form.
Expected read_expected(const std::string& file);

struct Line {
  std::string check;
  std::string outcome;  ///< "pass", "fail", "n/a", "xfail" or "xpass"
  std::string text;
  double seconds = 0;
};

Line line_of(const std::string& check, const Result& result, const Expected& expected);
/// Whether no line is a failure: neither "fail" nor "xpass".
bool all_well(const std::vector<Line>& lines);
std::string table_of(const std::vector<Line>& lines);
nlohmann::ordered_json json_of(const std::string& plugin, const std::vector<Line>& lines,
                               double seconds);

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_REPORT_H
