// SPDX-License-Identifier: Apache-2.0
//
// Level process: fork, exit, threads, hosts older and newer than the plugin,
// the texts of errors, and the explicit shutdown.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "check.h"
#include "child.h"
#include "stream.h"

namespace ferry::verify {
namespace {

constexpr double kPatience = 10;  // seconds

/// Fails unless a process ended by itself with status 0.
void expect_good_end(int status, const std::string& what) {
  if (status == -1) fail("{} takes more than {:g} s", what, kPatience);
  if (WIFSIGNALED(status)) fail("{} crashes: {}", what, signal_name(WTERMSIG(status)));
  expect(WEXITSTATUS(status) == 0, "{} ends with exit status {}, not 0", what, WEXITSTATUS(status));
}

void in_fork(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  const uint32_t count = plugin.core().count();
  const ferry_device_info before = plugin.info(0);
  step("count and info in a forked child");
  const int status = wait_status_of(
      [&] {
        if (plugin.core().count() != count) _exit(2);
        const ferry_device_info now = plugin.info(0);
        if (std::memcmp(&now, &before, sizeof now) != 0) _exit(3);
      },
      kPatience);
  if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 2) {
    fail("in a forked child count gives another number than before the fork, {}", count);
  }
  if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 3) {
    fail("in a forked child info(0) gives other information than before the fork");
  }
  expect_good_end(status, "count and info in a forked child");
}

/// Opens, allocates, leaves work behind where there are streams, and exits.
[[noreturn]] void exit_in_use(const std::string& path) {
  // Never destroyed: that is the question.
  auto* bench = new Bench(path);
  constexpr uint64_t kSize = 1 << 20;
  auto* bytes = new Bytes(pattern(kSize, 1));
  const ferry_memory block = bench->device.block_of(*bytes);
  try {
    const ferry_stream_api& api = streams_of(bench->plugin, bench->device);
    auto* stream = new OpenStream(api, bench->device);
    for (int i = 0; i < 20; ++i) {
      bench->device.h2d({block, 0}, bytes->data(), kSize, stream->handle());
    }
  } catch (const NotApplicable&) {
    // A synchronous device has no pending work.
  }
  std::exit(0);
}

void at_exit(const std::string& path) {
  (void)Bench(path);  // tells a plugin that refuses from one that exits badly
  step("exit with an open device");
  const int status = wait_status_of([&] { exit_in_use(path); }, kPatience);
  expect_good_end(status, "a process that exits with an open device, memory and pending work");
}

void in_threads(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  const uint32_t count = plugin.core().count();
  expect(count > 0, "count gives 0 devices");
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::string failure;
  step("count, info, open and close from 8 threads");
  for (uint32_t t = 0; t < 8; ++t) {
    workers.emplace_back([&, t] {
      try {
        for (int round = 0; round < 20; ++round) {
          expect(plugin.core().count() == count, "count changes while 8 threads list and open");
          (void)plugin.info(t % count);
          // A device is opened once at a time: each by a thread of its own.
          if (t < count) {
            OpenDevice device(plugin, t);
            const Bytes want = pattern(1000, t);
            const std::string wrong = difference(device.read(device.block_of(want), 1000), want);
            expect(wrong.empty(), "wrong bytes while 8 threads list and open: {}", wrong);
          }
        }
      } catch (const Failed& failed) {
        const std::lock_guard lock(mutex);
        failure = failed.text;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (!failure.empty()) throw Failed{failure};
}

/// Room of `size` bytes that ends where memory ends: one byte further crashes.
uint8_t* before_the_wall(size_t size) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) fail("no memory for the test");
  mprotect(static_cast<uint8_t*>(pages) + page, page, PROT_NONE);
  return static_cast<uint8_t*>(pages) + page - size;
}

void expect_works(const Plugin& plugin, const char* host) {
  OpenDevice device(plugin);
  const Bytes want = pattern(4096, 2);
  const std::string wrong = difference(device.read(device.block_of(want), 4096), want);
  expect(wrong.empty(), "with {} a round trip gives wrong bytes: {}", host, wrong);
}

const char* name_of(const Plugin& plugin) {
  return plugin.desc().name == nullptr ? "" : plugin.desc().name;
}

void old_host(const std::string& path) {
  Plugin plugin(path);
  if (plugin.desc().minor_min > 0) {
    not_applicable("it asks for a host of ABI 1.{} or later", plugin.desc().minor_min);
  }
  // Up to `option`, and no optional tables behind the kernels.
  const size_t host_size = offsetof(ferry_host, device_lost);
  const size_t api_size = offsetof(ferry_plugin_api, extensions);
  uint8_t* host = before_the_wall(host_size);
  std::memcpy(host, &host_table(name_of(plugin)), host_size);
  reinterpret_cast<ferry_host*>(host)->size = static_cast<uint32_t>(host_size);
  reinterpret_cast<ferry_host*>(host)->minor = 0;
  uint8_t* api = before_the_wall(api_size);
  reinterpret_cast<ferry_plugin_api*>(api)->size = static_cast<uint32_t>(api_size);
  ferry_plugin_api whole{};
  step("init with tables that end at a wall");
  // init() reads no member behind the size that it is told.
  plugin.init(*reinterpret_cast<const ferry_host*>(host), reinterpret_cast<ferry_plugin_api*>(api));
  std::memcpy(&whole, api, api_size);
  expect(whole.size == api_size, "init changes the size of ferry_plugin_api from {} to {}",
         api_size, whole.size);
  expect_works(plugin, "a host of ABI 1.0 with short tables");
}

void new_host(const std::string& path) {
  Plugin plugin(path);
  constexpr uint8_t kPoison = 0xa5;
  constexpr size_t kMore = 256;
  alignas(16) static uint8_t host[sizeof(ferry_host) + kMore];
  alignas(16) static uint8_t api[sizeof(ferry_plugin_api) + kMore];
  std::memset(host, kPoison, sizeof host);
  std::memcpy(host, &host_table(name_of(plugin)), sizeof(ferry_host));
  reinterpret_cast<ferry_host*>(host)->size = sizeof host;
  reinterpret_cast<ferry_host*>(host)->minor = 1000;
  std::memset(api, 0, sizeof(ferry_plugin_api));
  std::memset(api + sizeof(ferry_plugin_api), kPoison, kMore);
  reinterpret_cast<ferry_plugin_api*>(api)->size = sizeof api;
  const Bytes host_before(host, host + sizeof host);
  plugin.init(*reinterpret_cast<const ferry_host*>(host), reinterpret_cast<ferry_plugin_api*>(api));
  expect(reinterpret_cast<ferry_plugin_api*>(api)->size == sizeof api,
         "init changes the size of ferry_plugin_api from {} to {}", sizeof api,
         reinterpret_cast<ferry_plugin_api*>(api)->size);
  const std::string wrong = difference(Bytes(host, host + sizeof host), host_before);
  expect(wrong.empty(), "init writes to the host's table: {}", wrong);
  // A plugin of a later ABI knows more members than this program.
  if (plugin.desc().minor_built <= FERRY_ABI_MINOR) {
    for (size_t i = sizeof(ferry_plugin_api); i < sizeof api; ++i) {
      expect(api[i] == kPoison,
             "init writes byte {} of ferry_plugin_api, behind the members it "
             "was built with",
             i);
    }
  }
  expect_works(plugin, "a host of a later ABI with longer tables");
}

/// Fails unless the call failed and said why on this thread.
template <class Call>
void expect_text(const std::string& name, Call&& call) {
  fail_text() = FailText();
  step(name);
  const ferry_rc rc = call();
  expect(rc < 0, "{} gives {}, not an error", name, rc_name(rc));
  expect(fail_text().calls > 0 && !fail_text().text.empty(),
         "{} gives {} without a text through host->fail on the same thread", name, rc_name(rc));
  expect(fail_text().code == rc, "{} gives {}, to host->fail it gave {}", name, rc_name(rc),
         rc_name(fail_text().code));
}

void errors_of(const Bench& bench) {
  const ferry_core_api& core = bench.plugin.core();
  const uint32_t count = core.count();
  ferry_device_info info{};
  info.size = sizeof info;
  ferry_device device = nullptr;
  ferry_memory memory{0};
  expect_text(fmt::format("info({}) of {} devices", count, count),
              [&] { return core.info(count, &info); });
  expect_text(fmt::format("open({}) of {} devices", count, count),
              [&] { return core.open(count, &device); });
  expect_text("alloc of 2^60 bytes", [&] {
    return core.alloc(bench.device.handle(), FERRY_SPACE_DEVICE, uint64_t{1} << 60, &memory);
  });
}

void errors(const std::string& path) {
  const Bench bench(path);
  errors_of(bench);
  std::string failure;
  std::thread([&] {
    try {
      errors_of(bench);
    } catch (const Failed& failed) {
      failure = "on a second thread: " + failed.text;
    }
  }).join();
  if (!failure.empty()) throw Failed{failure};
}

void use_streams_and_threads(const Plugin& plugin) {
  OpenDevice device(plugin);
  const Bytes bytes = pattern(8 << 20, 1);
  const ferry_memory block = device.block_of(bytes);
  try {
    const ferry_stream_api& api = streams_of(plugin, device);
    OpenStream stream(api, device);
    device.h2d({block, 0}, bytes.data(), bytes.size(), stream.handle());
    stream.sync();
  } catch (const NotApplicable&) {
    // Without streams the copy above has used what threads there are.
  }
}

void quiesce(const std::string& path) {
  const int before = threads();
  const Plugin plugin = Plugin::initialised(path);
  const ferry_core_api& core = plugin.core();
  if (!FERRY_HAS(&core, quiesce) || core.quiesce == nullptr) {
    not_applicable("no quiesce in the core table");
  }
  use_streams_and_threads(plugin);
  step("quiesce");
  const auto begin = std::chrono::steady_clock::now();
  core.quiesce();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  expect(took.count() <= kPatience, "quiesce takes {:.1f} s, more than {:g} s", took.count(),
         kPatience);
  const int after = threads_settling_at(before);
  expect(after <= before, "after quiesce the process has {} threads, before init it had {}", after,
         before);
}

}  // namespace

std::vector<Check> process_checks() {
  return {{"process.fork", in_fork},       {"process.exit", at_exit},
          {"process.threads", in_threads}, {"process.old-host", old_host},
          {"process.new-host", new_host},  {"process.errors", errors},
          {"process.quiesce", quiesce}};
}

}  // namespace ferry::verify
