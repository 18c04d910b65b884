// SPDX-License-Identifier: Apache-2.0
//
// Where plugins are looked for, and in which order.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "child.h"

namespace ferry::test {
namespace {

namespace fs = std::filesystem;

/// The lines of `report` with this backend, in order.
std::vector<std::string> files_of(const std::vector<Json>& report, const std::string& code) {
  std::vector<std::string> files;
  for (const Json& line : report) {
    if (line.value("code", "") == code) files.push_back(line.at("file"));
  }
  return files;
}

using SearchTest = LoaderTest;

TEST_F(SearchTest, LooksBesideTheLibrary) {
  const std::string path = (beside_ / "ferry_acme.so").string();
  fs::copy_file(built("acme"), path);
  const Json entry = entry_of(path);
  EXPECT_EQ(entry.at("code"), "F000");
  EXPECT_EQ(entry.at("found_by"), "beside libferry");
}

/// As a relative LD_LIBRARY_PATH does, from another current directory.
TEST_F(SearchTest, LooksBesideALibraryLoadedByARelativeName) {
  fs::copy_file(built("acme"), beside_ / "ferry_acme.so");
  // The mapping names the file behind the link, so it must be a real one here.
  const fs::path library = root_ / "lib" / fs::path(LIBFERRY).filename();
  fs::remove(library);
  fs::copy_file(LIBFERRY, library);
  const fs::path relative = fs::relative(root_ / "lib", fs::current_path());
  const auto devices = lines_of({"devices"}, {{"LD_LIBRARY_PATH", relative.string()}});
  EXPECT_EQ(devices.size(), 2u);
}

TEST_F(SearchTest, TheUsersFoldersComeFirstAndInOrder) {
  const fs::path other = root_ / "other";
  fs::create_directory(other);
  fs::copy_file(built("acme"), other / "z.so");
  fs::copy_file(built("acme"), beside_ / "a.so");
  const std::string later = add("acme", "a.so");
  const auto report =
      lines_of({"report"}, {{"FERRY_PLUGIN_PATH", other.string() + "::" + folder_.string()}});
  EXPECT_EQ(files_of(report, "F000"), std::vector<std::string>{(other / "z.so").string()});
  EXPECT_EQ(files_of(report, "F101"),
            (std::vector<std::string>{later, (beside_ / "a.so").string()}));
}

TEST_F(SearchTest, AnEntryMayBeOneFile) {
  const std::string path = add("acme", "acme.plugin");
  const auto report = lines_of({"report"}, {{"FERRY_PLUGIN_PATH", path}});
  EXPECT_EQ(files_of(report, "F000"), std::vector<std::string>{path});
}

TEST_F(SearchTest, RefusesRelativeAndAbsentEntries) {
  add("acme");
  const std::string relative = fs::relative(folder_, fs::current_path()).string();
  const auto report =
      lines_of({"report"}, {{"FERRY_PLUGIN_PATH", relative + ":.:/nowhere/at/all"}});
  ASSERT_EQ(report.size(), 3u);
  for (const Json& line : report) EXPECT_EQ(line.at("code"), "F200");
  EXPECT_EQ(report[0].at("file"), relative);
  EXPECT_NE(report[0].at("text").get<std::string>().find("relative"), std::string::npos);
  EXPECT_NE(report[0].at("remedy").get<std::string>().find("absolute"), std::string::npos);
  EXPECT_EQ(report[2].at("file"), "/nowhere/at/all");
  EXPECT_NE(report[2].at("text").get<std::string>().find("No such file"), std::string::npos);
}

TEST_F(SearchTest, DoesNotHangOnWhatIsNoFile) {
  const std::string pipe = (folder_ / "pipe.so").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string dangling = (folder_ / "dangling.so").string();
  fs::create_symlink("/nowhere/at/all.so", dangling);
  fs::create_directory(folder_ / "folder.so");
  EXPECT_EQ(entry_of(pipe).at("code"), "F100");
  EXPECT_EQ(entry_of(dangling).at("code"), "F200");
  EXPECT_EQ(lines_of({"report"}).size(), 2u);
}

TEST_F(SearchTest, AddedPathsComeFirstUntilThePluginsAreLoaded) {
  const std::string path = add("acme");
  const auto lines =
      lines_of({"add_path", path, "relative/path"}, {{"FERRY_PLUGIN_PATH", std::nullopt}});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].value("added", ""), path);
  EXPECT_EQ(lines[1].value("error", ""), "InvalidArgument");
  EXPECT_EQ(lines[2].value("code", ""), "F000");
  EXPECT_EQ(lines[2].value("found_by", ""), "add_plugin_path");
  EXPECT_EQ(lines[3].value("error", ""), "InvalidArgument");
  EXPECT_NE(lines[3].value("text", "").find("too late"), std::string::npos);
}

}  // namespace
}  // namespace ferry::test
