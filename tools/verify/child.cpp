// SPDX-License-Identifier: Apache-2.0
//
// Forking, the pipe on which a child answers, and its end.
#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

#include "check.h"

namespace ferry::verify {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

constexpr size_t kStepLength = 240;
/// The step of this child; in memory that the parent shares, to outlive it.
char* current_step = nullptr;

struct Child {
  size_t task = 0;
  pid_t pid = 0;
  int pipe = -1;
  char* step = nullptr;
  Clock::time_point begin = Clock::now();
  std::string answer;
};

void write_all(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

std::string answer_of(const Task& task) {
  try {
    return "P" + task();
  } catch (const Failed& failure) {
    return "F" + failure.text;
  } catch (const NotApplicable& reason) {
    return "N" + reason.text;
  } catch (const std::exception& error) {
    return std::string("F") + error.what();
  } catch (...) {
    return "Fan exception that is no std::exception came out of the plugin";
  }
}

[[noreturn]] void be_child(const Task& task, int pipe) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // A plugin's own output is none of the report's.
  const int sink = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(sink, fd);
  close(sink);
  write_all(pipe, answer_of(task));
  // Not exit: how a plugin behaves at exit is a question of its own.
  _exit(0);
}

Child start(size_t number, const Task& task) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  Child child;
  child.task = number;
  void* shared =
      mmap(nullptr, kStepLength, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  child.step = static_cast<char*>(shared);
  std::fflush(nullptr);
  child.pid = fork();
  if (child.pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child.pid == 0) {
    close(ends[0]);
    current_step = child.step;
    be_child(task, ends[1]);
  }
  setpgid(child.pid, child.pid);
  close(ends[1]);
  child.pipe = ends[0];
  return child;
}

std::string end_of(int status) {
  if (WIFSIGNALED(status)) return "crashed: " + signal_name(WTERMSIG(status));
  return fmt::format("ended the process with exit status {}", WEXITSTATUS(status));
}

/// Takes what the child says; true once it has closed its side.
bool read_from(Child& child) {
  char buffer[4096];
  const ssize_t got = read(child.pipe, buffer, sizeof buffer);
  if (got > 0) child.answer.append(buffer, static_cast<size_t>(got));
  return got == 0 || (got < 0 && errno != EINTR);
}

Result finish(Child& child, bool timed_out, double timeout) {
  if (timed_out) kill(child.pid, SIGKILL);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  kill(-child.pid, SIGKILL);  // processes that it left behind
  close(child.pipe);
  child.step[kStepLength - 1] = '\0';
  const std::string step = child.step;
  munmap(child.step, kStepLength);
  Result result;
  result.seconds = seconds_since(child.begin);
  const std::string during = step.empty() ? "" : " (at: " + step + ")";
  if (timed_out) {
    result.text = fmt::format("timed out after {:g} s{}", timeout, during);
  } else if (child.answer.empty()) {
    result.text = end_of(status) + during;
  } else {
    result.ending = child.answer[0] == 'P'   ? Ending::kPass
                    : child.answer[0] == 'N' ? Ending::kNotApplicable
                                             : Ending::kFail;
    result.text = child.answer.substr(1);
  }
  return result;
}

}  // namespace

void step(const std::string& text) {
  if (current_step == nullptr) return;
  std::strncpy(current_step, text.c_str(), kStepLength - 1);
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name == nullptr ? fmt::format("signal {}", number) : std::string("SIG") + name;
}

std::vector<Result> run_in_children(const std::vector<Task>& tasks, int at_once, double timeout,
                                    const std::function<void(size_t, const Result&)>& done) {
  std::vector<Result> results(tasks.size());
  std::vector<Child> running;
  size_t next = 0;
  while (next < tasks.size() || !running.empty()) {
    while (next < tasks.size() && running.size() < static_cast<size_t>(at_once)) {
      running.push_back(start(next, tasks[next]));
      ++next;
    }
    std::vector<pollfd> watched;
    for (const Child& child : running) watched.push_back({child.pipe, POLLIN, 0});
    poll(watched.data(), watched.size(), 50);
    for (size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      const bool closed = watched[i].revents != 0 && read_from(child);
      const bool late = seconds_since(child.begin) > timeout;
      if (!closed && !late) continue;
      results[child.task] = finish(child, !closed, timeout);
      done(child.task, results[child.task]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return results;
}

int wait_status_of(const std::function<void()>& task, double seconds) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) {
    try {
      task();
    } catch (...) {
      _exit(99);
    }
    _exit(0);
  }
  const auto begin = Clock::now();
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    if (seconds_since(begin) > seconds) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return status;
}

}  // namespace ferry::verify
