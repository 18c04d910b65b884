// SPDX-License-Identifier: Apache-2.0
//
// FERRY_LAYERS in whole programs on the simulator, one case a process; the
// variables are set in CMakeLists.txt.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "ferry/error.h"
#include "ferry/log.h"
#include "ferry/memory.h"
#include "ferry/ops.h"
#include "ferry/stream.h"

namespace ferry {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class E, class F>
std::string text_of(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// Runs `body` in a child that ends as a program does, or is killed, and returns
/// what it wrote to stderr.
template <class F>
std::string in_child(F&& body, bool killed = false) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    if (killed) kill(getpid(), SIGKILL);
    std::exit(0);
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    out.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0) << out;
  return out;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Some of everything.
void work() {
  for (const char* name : {"sim:0", "sim:1", "cpu"}) {
    const Tensor x = ones({64, 64}, name);
    Tensor y = softmax(matmul(x, x + 1), 1);
    y = y + x;
    EXPECT_EQ(sum(y.t()).item<float>(), 64 * 65);
    const Stream stream{Device(name)};
    const StreamGuard guard(stream);
    const Tensor z = y.to("sim:1").cpu() * 2;
    EXPECT_EQ(z.to_vector<float>().size(), 64u * 64);
  }
  synchronize("sim:0");
  empty_cache();
}

TEST(Layers, AllOfThemChangeNothing) { work(); }

TEST(Layers, UnknownWordIsNamed) {
  for (int i = 0; i < 2; ++i) {
    const std::string text = text_of<InvalidArgument>([] { (void)ones({1}, "sim:0"); });
    EXPECT_TRUE(has(text, "FERRY_LAYERS") && has(text, "'trase'") &&
                has(text, "validate, trace, leaks, sync"))
        << text;
  }
}

TEST(Layers, WrongTraceFileIsNamed) {
  const std::string text = text_of<InvalidArgument>([] { (void)ones({1}, "sim:0"); });
  EXPECT_TRUE(has(text, "FERRY_TRACE_FILE") && has(text, "/nowhere/at/all")) << text;
}

TEST(Layers, SyncNamesTheCallThatFailed) {
  const Tensor x = ones({4}, "sim:0");  // the first kernel
  const std::string text = text_of<DeviceError>([&] { (void)exp(x); });
  EXPECT_TRUE(has(text, "exp") && has(text, "f32[4]") && has(text, "map/1") && has(text, "sim:0"))
      << text;
  EXPECT_EQ(exp(x).to_vector<float>().size(), 4u);  // and it was thrown once
}

TEST(Layers, SyncNamesACallThatHangs) {
  const Tensor x = ones({4}, "sim:0");
  const std::string text = text_of<DeviceLostError>([&] { (void)exp(x); });
  EXPECT_TRUE(has(text, "exp") && has(text, "300 ms")) << text;
  _exit(HasFailure() ? 1 : 0);  // the hanging thread never ends
}

TEST(Layers, LeaksAreReported) {
  const std::string text = in_child([] {
    new Tensor(ones({1000}, "sim:0"));
    const Tensor gone = ones({77}, "sim:0");
  });
  EXPECT_TRUE(has(text, "[leaks] sim:0: 1 block alive at exit, 4.0 KiB")) << text;
  EXPECT_TRUE(has(text, "by ferry::")) << text;
}

TEST(Layers, NoLeakIsQuiet) {
  EXPECT_EQ(in_child([] { const Tensor gone = ones({77}, "sim:0"); }), "");
}

TEST(Layers, LeaksGoToTheCallback) {
  const std::string text = in_child([] {
    set_log_callback([](LogLevel, std::string_view component, std::string_view line) {
      if (component == "leaks") dprintf(STDERR_FILENO, "callback: %s\n", std::string(line).c_str());
    });
    new Tensor(ones({1000}, "sim:0"));
  });
  EXPECT_TRUE(has(text, "callback: sim:0: 1 block")) << text;
  EXPECT_FALSE(has(text, "ferry: warn")) << text;
}

TEST(Layers, TraceOpensAsJson) {
  const std::string path = std::getenv("FERRY_TRACE_FILE");
  (void)in_child([] { work(); });
  const auto events = nlohmann::json::parse(read_file(path));
  std::set<std::string> processes, kernels, copies, phases;
  int timed = 0;
  for (const auto& e : events) {
    phases.insert(e.at("ph"));
    if (e.at("name") == "process_name") processes.insert(e["args"]["name"].get<std::string>());
    if (e.value("cat", "") == "kernel") {
      kernels.insert(e.at("name"));
      EXPECT_TRUE(has(e["args"].at("shapes"), "->"));
      EXPECT_GE(e.at("dur").get<double>(), 0);
      if (e["args"]["timed_by"] == "events") ++timed;
    }
    if (e.value("cat", "") == "copy") {
      copies.insert(e.at("name"));
      EXPECT_GT(e["args"].at("bytes").get<uint64_t>(), 0u);
    }
    if (e.at("ph") == "C") {
      EXPECT_TRUE(e["args"].contains("allocated"));
    }
  }
  EXPECT_EQ(phases, (std::set<std::string>{"C", "M", "X"}));
  EXPECT_GE(processes.size(), 4u);  // the host and three devices
  EXPECT_TRUE(kernels.count("matmul") && kernels.count("softmax") && kernels.count("add"));
  EXPECT_TRUE(copies.count("h2d") || copies.count("d2h"));
  EXPECT_GT(timed, 0);
  std::remove(path.c_str());
}

TEST(Layers, KilledProcessLeavesAReadableTrace) {
  const std::string path = std::getenv("FERRY_TRACE_FILE");
  (void)in_child([] { work(); }, true);
  const std::string text = read_file(path);
  EXPECT_FALSE(nlohmann::json::accept(text));
  EXPECT_GT(nlohmann::json::parse(text + "\n]").size(), 20u);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace ferry
