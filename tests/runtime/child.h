// SPDX-License-Identifier: Apache-2.0
//
// Runs list_devices in a child process over a plugin folder of the test's own.
#ifndef FERRY_TESTS_RUNTIME_CHILD_H
#define FERRY_TESTS_RUNTIME_CHILD_H

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ferry::test {

using Json = nlohmann::json;

struct ChildResult {
  int status = -1;  ///< exit status, or 128 + signal
  std::string out, err;
  std::vector<Json> lines;  ///< of out
};

/// What to set in a child's environment; nothing: the variable is not set.
using Variables = std::map<std::string, std::optional<std::string>>;

/// Two folders of plugins, gone after the test: folder_ is FERRY_PLUGIN_PATH of
/// the children, beside_ the one beside their libferry. So the children see the
/// test's plugins and no others.
class LoaderTest : public ::testing::Test {
 protected:
  LoaderTest();
  ~LoaderTest() override;

  /// Copies the built test plugin `name` into the folder, as `file`, and
  /// returns its path there.
  std::string add(const std::string& name, const std::string& file = "");
  std::string add_text(const std::string& file, const std::string& text);

  /// Runs list_devices with `environment` on top of one without FERRY_
  /// variables.
  ChildResult run(const std::vector<std::string>& arguments, const Variables& environment = {});

  /// The report's line for `path`; a failure of the test where there is none.
  Json entry_of(const std::string& path, const Variables& environment = {});
  /// Lines of `command`, which must succeed and print nothing on stderr.
  std::vector<Json> lines_of(const std::vector<std::string>& arguments,
                             const Variables& environment = {});

  std::filesystem::path root_, folder_, beside_;
};

/// Path of a built test plugin.
std::string built(const std::string& name);

}  // namespace ferry::test

#endif  // FERRY_TESTS_RUNTIME_CHILD_H
