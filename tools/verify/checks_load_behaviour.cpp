// SPDX-License-Identifier: Apache-2.0
//
// Level load, the first calls: what probe, init, count, info and open answer,
// and that they leave the process as it was.
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "checks_load.h"
#include "device.h"

namespace ferry::verify {
namespace {

/// Opens, initialises, counts and asks each device for its information.
Plugin with_infos(const std::string& path) {
  Plugin plugin = Plugin::initialised(path);
  step("count");
  const uint32_t count = plugin.core().count();
  for (uint32_t i = 0; i < count; ++i) (void)plugin.info(i);
  return plugin;
}

void quiet(const std::string& path) {
  const int file = memfd_create("output", 0);
  std::fflush(nullptr);
  dup2(file, 1);
  dup2(file, 2);
  (void)with_infos(path);
  std::fflush(nullptr);
  char text[160] = {};
  const ssize_t got = pread(file, text, sizeof text - 1, 0);
  struct stat state {};
  fstat(file, &state);
  expect(got <= 0, "probe, init, count and info print {} bytes, not 0, beginning with '{}'",
         state.st_size, std::string(text).substr(0, 80));
}

void no_threads(const std::string& path) {
  const int before = threads();
  (void)with_infos(path);
  const int after = threads();
  expect(after <= before, "after init, count and info the process has {} threads, not {}", after,
         before);
}

struct Environment {
  std::string folder;
  mode_t mask;
  std::string locale;
  struct sigaction actions[65]{};
  sigset_t blocked{};

  Environment() : folder(std::filesystem::current_path()), mask(umask(0)) {
    umask(mask);
    locale = setlocale(LC_ALL, nullptr);
    for (int s = 1; s < 65; ++s) sigaction(s, nullptr, &actions[s]);
    sigprocmask(SIG_SETMASK, nullptr, &blocked);
  }
};

void no_environment(const std::string& path) {
  const Environment before;
  const Plugin plugin = with_infos(path);
  const OpenDevice device(plugin);
  const Environment after;
  expect(after.folder == before.folder, "the working directory becomes {}, it was {}", after.folder,
         before.folder);
  expect(after.mask == before.mask, "the umask becomes {:o}, it was {:o}", after.mask, before.mask);
  expect(after.locale == before.locale, "the locale becomes {}, it was {}", after.locale,
         before.locale);
  for (int s = 1; s < 65; ++s) {
    expect(after.actions[s].sa_handler == before.actions[s].sa_handler &&
               after.actions[s].sa_flags == before.actions[s].sa_flags,
           "the handler of signal {} is another after open", s);
    expect(sigismember(&after.blocked, s) == sigismember(&before.blocked, s),
           "signal {} is blocked or not as it was not before", s);
  }
}

void stable(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  const uint32_t first = plugin.core().count();
  expect(first > 0, "count gives 0 devices");
  for (int round = 0; round < 2; ++round) {
    const uint32_t again = plugin.core().count();
    expect(again == first, "count gives {}, before it gave {}", again, first);
    for (uint32_t i = 0; i < first; ++i) {
      const ferry_device_info a = plugin.info(i), b = plugin.info(i);
      const auto* x = reinterpret_cast<const uint8_t*>(&a);
      const auto* y = reinterpret_cast<const uint8_t*>(&b);
      for (size_t k = 0; k < sizeof a; ++k) {
        expect(x[k] == y[k], "byte {} of the info of device {} is {}, before it was {}", k, i, y[k],
               x[k]);
      }
    }
  }
}

template <size_t N>
void expect_ended(const char (&field)[N], const char* name, uint32_t index) {
  expect(std::memchr(field, 0, N) != nullptr, "info({}).{} is not ended by 0 within its {} bytes",
         index, name, N);
}

void info(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  for (uint32_t i = 0; i < plugin.core().count(); ++i) {
    const ferry_device_info got = plugin.info(i);
    expect_ended(got.name, "name", i);
    expect_ended(got.vendor, "vendor", i);
    expect_ended(got.uuid, "uuid", i);
    expect_ended(got.pci, "pci", i);
    expect_ended(got.arch, "arch", i);
    expect_ended(got.driver, "driver", i);
    expect(got.memory_total > 0, "info({}).memory_total is 0", i);
    expect(std::has_single_bit(got.alignment), "info({}).alignment is {}, not a power of two", i,
           got.alignment);
  }
}

void info_size(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  constexpr uint8_t kPoison = 0xa5;
  const size_t sizes[] = {offsetof(ferry_device_info, memory_total),
                          offsetof(ferry_device_info, alignment),
                          offsetof(ferry_device_info, vendor), sizeof(ferry_device_info),
                          sizeof(ferry_device_info) + 64};
  for (const size_t size : sizes) {
    alignas(ferry_device_info) uint8_t room[sizeof(ferry_device_info) + 512];
    std::memset(room, 0, size);
    std::memset(room + size, kPoison, sizeof room - size);
    auto* asked = reinterpret_cast<ferry_device_info*>(room);
    asked->size = static_cast<uint32_t>(size);
    const std::string call = fmt::format("info(0) with size {}", size);
    step(call);
    expect_ok(plugin.core().info(0, asked), call);
    expect(asked->size == size, "{} changes size to {}", call, asked->size);
    for (size_t i = size; i < sizeof room; ++i) {
      expect(room[i] == kPoison, "{} writes byte {}, behind the struct", call, i);
    }
  }
}

void expect_refused(ferry_rc rc, int calls_before, const std::string& call) {
  expect(rc < 0, "{} gives {}, not an error", call, rc_name(rc));
  const FailText& last = fail_text();
  expect(last.calls > calls_before && !last.text.empty(),
         "{} gives {} without a text through host->fail", call, rc_name(rc));
}

void index(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  const uint32_t count = plugin.core().count();
  ferry_device_info asked{};
  asked.size = sizeof asked;
  const ferry_device_info untouched = asked;
  int calls = fail_text().calls;
  std::string call = fmt::format("info({}) of {} devices", count, count);
  step(call);
  expect_refused(plugin.core().info(count, &asked), calls, call);
  expect(std::memcmp(&asked, &untouched, sizeof asked) == 0, "{} writes to its argument", call);
  calls = fail_text().calls;
  int sentinel = 0;
  auto* const before = reinterpret_cast<ferry_device>(&sentinel);
  ferry_device device = before;
  call = fmt::format("open({}) of {} devices", count, count);
  step(call);
  expect_refused(plugin.core().open(count, &device), calls, call);
  expect(device == before, "{} writes to its argument", call);
}

}  // namespace

std::vector<Check> load_behaviour_checks() {
  return {{"load.quiet", quiet},
          {"load.no-threads", no_threads},
          {"load.no-environment", no_environment},
          {"load.stable", stable},
          {"load.info", info},
          {"load.info-size", info_size},
          {"load.index", index}};
}

}  // namespace ferry::verify
