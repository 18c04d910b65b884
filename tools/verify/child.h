// SPDX-License-Identifier: Apache-2.0
//
// Runs each check in a process of its own, so that a crash, an exit or a hang
// of the plugin is a result like any other.
#ifndef FERRY_TOOLS_VERIFY_CHILD_H
#define FERRY_TOOLS_VERIFY_CHILD_H

#include <functional>
#include <string>
#include <vector>

namespace ferry::verify {

enum class Ending { kPass, kFail, kNotApplicable };

struct Result {
  Ending ending = Ending::kFail;
  std::string text;
  double seconds = 0;
};

/// What a child does; returns text for its parent, or throws Failed,
/// NotApplicable or another exception.
using Task = std::function<std::string()>;

/// Runs the tasks in children, up to `at_once` at a time, each for at most
/// `timeout` seconds. `done` is told of each as it ends. The caller has one
/// thread and has loaded no plugin: children are forked from it.
std::vector<Result> run_in_children(const std::vector<Task>& tasks, int at_once, double timeout,
                                    const std::function<void(size_t, const Result&)>& done);

/// For a check that needs a further process: forks, runs `task` there and
/// returns the wait status, or -1 where it took more than `seconds`.
int wait_status_of(const std::function<void()>& task, double seconds);

/// "SIGABRT".
std::string signal_name(int number);

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_CHILD_H
