// SPDX-License-Identifier: Apache-2.0
//
// Starting children and reading what they said.
#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace ferry::test {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::vector<std::string> child_environment(const Variables& changes) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const bool changed = changes.contains(text.substr(0, text.find('=')));
    if (!text.starts_with("FERRY_") && !changed) result.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (value) result.push_back(name + "=" + *value);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

std::string built(const std::string& name) {
  return std::string(TEST_PLUGINS) + "/" + name + ".so";
}

LoaderTest::LoaderTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "ferry-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  root_ = pattern;
  folder_ = root_ / "plugins";
  std::filesystem::create_directory(folder_);
  beside_ = root_ / "lib" / FERRY_PLUGIN_SUBDIR;
  std::filesystem::create_directories(beside_);
  std::filesystem::create_symlink(LIBFERRY,
                                  root_ / "lib" / std::filesystem::path(LIBFERRY).filename());
}

LoaderTest::~LoaderTest() {
  std::error_code ec;
  std::filesystem::remove_all(root_, ec);
}

std::string LoaderTest::add(const std::string& name, const std::string& file) {
  const auto path = folder_ / (file.empty() ? name + ".so" : file);
  std::filesystem::copy_file(built(name), path);
  return path.string();
}

std::string LoaderTest::add_text(const std::string& file, const std::string& text) {
  const auto path = folder_ / file;
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

ChildResult LoaderTest::run(const std::vector<std::string>& arguments,
                            const Variables& environment) {
  Variables variables = environment;
  variables.try_emplace("FERRY_PLUGIN_PATH", folder_.string());
  const char* library_path = ::getenv("LD_LIBRARY_PATH");
  variables.try_emplace(
      "LD_LIBRARY_PATH",
      (root_ / "lib").string() + (library_path == nullptr ? "" : std::string(":") + library_path));
  std::vector<std::string> argument_texts = {LIST_DEVICES};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment_texts = child_environment(variables);

  const auto out = root_ / "out", err = root_ / "err";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kFlags, 0600);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, LIST_DEVICES, &actions, nullptr, pointers(argument_texts).data(),
                    pointers(environment_texts).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " LIST_DEVICES);
  int status = 0;
  ::waitpid(pid, &status, 0);

  ChildResult result;
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_file(out);
  result.err = read_file(err);
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    result.lines.push_back(Json::parse(line, nullptr, false));
  }
  return result;
}

std::vector<Json> LoaderTest::lines_of(const std::vector<std::string>& arguments,
                                       const Variables& environment) {
  ChildResult result = run(arguments, environment);
  EXPECT_EQ(result.status, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  return result.lines;
}

Json LoaderTest::entry_of(const std::string& path, const Variables& environment) {
  const std::vector<Json> lines = lines_of({"report"}, environment);
  for (const Json& line : lines) {
    if (line.at("file") == path) return line;
  }
  ADD_FAILURE() << "the report has no line for " << path;
  return {{"code", ""}, {"text", ""}, {"remedy", ""}, {"backend", ""}};
}

}  // namespace ferry::test
