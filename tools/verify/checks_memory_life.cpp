// SPDX-License-Identifier: Apache-2.0
//
// Level memory, the life of devices and blocks: opening often, running out of
// memory and going on, leaks, and what the device says is free.
#include <algorithm>
#include <chrono>

#include "checks_memory.h"
#include "device.h"

namespace ferry::verify {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGrowth = 16 * kMiB;  // what allocators keep for themselves

/// Repeating that devices of any speed can do in this many seconds.
class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds) {}
  bool is_spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() >
           seconds_;
  }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void expect_no_growth(uint64_t before, const std::string& after) {
  const uint64_t now = resident_bytes();
  expect(now <= before + kGrowth, "{} the process has {} MiB resident, {} MiB more than before",
         after, now / kMiB, (now - before) / kMiB);
}

void open_close(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  const Budget budget(6);
  int done = 0, files = 0, running = 0;
  uint64_t resident = 0;
  for (; done < 1000 && !(done >= 20 && budget.is_spent()); ++done) {
    if (done == 5) {  // what is made once is there
      files = open_files();
      running = threads();
      resident = resident_bytes();
    }
    OpenDevice device(plugin);
  }
  const std::string after = fmt::format("after {} times open and close", done);
  expect(open_files() <= files, "{} the process has {} open files, after 5 it had {}", after,
         open_files(), files);
  const int still = threads_settling_at(running);
  expect(still <= running, "{} the process has {} threads, after 5 it had {}", after, still,
         running);
  expect_no_growth(resident, after);
}

void expect_usable(OpenDevice& device, const char* after) {
  const Bytes want = pattern(4096, 3);
  const ferry_memory block = device.block_of(want);
  const std::string wrong = difference(device.read(block, 4096), want);
  expect(wrong.empty(), "{} a round trip of 4096 bytes gives wrong bytes: {}", after, wrong);
  device.release(block);
}

void oom(const std::string& path) {
  Bench bench(path);
  const uint64_t most = bench.plugin.info().max_alloc;
  const uint64_t huge = uint64_t{1} << 60;
  for (const uint64_t bytes : {huge, most > 0 && most < huge / 64 ? most * 64 : huge}) {
    constexpr uint64_t kSentinel = 0x5e17;
    ferry_memory memory{kSentinel};
    const int calls = fail_text().calls;
    const std::string call = fmt::format("alloc of {} bytes", bytes);
    step(call);
    const ferry_rc rc =
        bench.device.core().alloc(bench.device.handle(), FERRY_SPACE_DEVICE, bytes, &memory);
    expect(rc == FERRY_E_OOM, "{} gives {}, not FERRY_E_OOM", call, rc_name(rc));
    expect(fail_text().calls > calls && !fail_text().text.empty(),
           "{} gives FERRY_E_OOM without a text through host->fail", call);
    expect(memory.handle == kSentinel, "{} fails and writes handle {:#x}", call, memory.handle);
  }
  expect_usable(bench.device, "after running out of memory");
}

/// Allocates blocks until the device has no room for another.
std::vector<ferry_memory> fill_device(OpenDevice& device, uint64_t block, uint64_t limit) {
  std::vector<ferry_memory> blocks;
  for (uint64_t held = 0; held < limit; held += block) {
    ferry_memory memory{0};
    step(fmt::format("alloc of {} bytes, {} being held", block, held));
    const ferry_rc rc = device.core().alloc(device.handle(), FERRY_SPACE_DEVICE, block, &memory);
    if (rc == FERRY_E_OOM) return blocks;
    expect_ok(rc, fmt::format("alloc of {} bytes, {} being held,", block, held));
    blocks.push_back(memory);
  }
  fail("{} bytes in blocks of {} were given, more than the device has", limit, block);
}

void oom_recovers(const std::string& path) {
  Bench bench(path);
  const uint64_t total = bench.plugin.info().memory_total;
  if (total >= 4096 * kMiB) {
    not_applicable("the device has {} MiB, too many to fill", total / kMiB);
  }
  const uint64_t block = std::max<uint64_t>(total / 32, 4096);
  size_t first = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<ferry_memory> blocks = fill_device(bench.device, block, total + 2 * block);
    if (round == 0) first = blocks.size();
    expect(!blocks.empty(), "the device has no room for a first block of {} bytes", block);
    expect(blocks.size() >= first,
           "filled again, the device holds {} blocks of {} bytes, at first it held {}",
           blocks.size(), block, first);
    for (const ferry_memory memory : blocks) {
      expect_ok(bench.device.core().release(bench.device.handle(), memory), "release");
    }
    expect_usable(bench.device, "after filling and emptying the device");
  }
}

/// Free bytes, or nothing where the device does not say.
bool free_bytes(OpenDevice& device, uint64_t* bytes, uint64_t* total) {
  const ferry_core_api& core = device.core();
  if (!FERRY_HAS(&core, memory_info) || core.memory_info == nullptr) return false;
  step("memory_info");
  const ferry_rc rc = core.memory_info(device.handle(), bytes, total);
  if (rc == FERRY_E_MISSING) return false;
  expect_ok(rc, "memory_info");
  return true;
}

/// Whether other programs change what is free: then only the process tells.
bool is_host_memory(const Plugin& plugin) {
  return (plugin.info().caps & FERRY_CAP_HOST_ACCESSIBLE) != 0;
}

void leak(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  constexpr uint64_t kBlock = 64 << 10;
  const Budget budget(6);
  uint64_t before = 0, after = 0, total = 0, resident = 0;
  bool known = false;
  int done = 0;
  for (; done < 20000 && !(done >= 500 && budget.is_spent()); ++done) {
    if (done == 100) {
      known = free_bytes(device, &before, &total);
      resident = resident_bytes();
    }
    ferry_memory memory{0};
    step(fmt::format("alloc of 64 KiB for the {}th time", done + 1));
    expect_ok(device.core().alloc(device.handle(), FERRY_SPACE_DEVICE, kBlock, &memory),
              fmt::format("alloc of 64 KiB, the {}th, all earlier ones being released,", done + 1));
    expect_ok(device.core().release(device.handle(), memory), "release");
  }
  expect_no_growth(resident, fmt::format("after {} times alloc and release of 64 KiB", done));
  if (!known || is_host_memory(bench.plugin)) return;
  (void)free_bytes(device, &after, &total);
  expect(after + kGrowth >= before,
         "after {} times alloc and release of 64 KiB {} MiB are free, before {} MiB were", done,
         after / kMiB, before / kMiB);
}

void memory_info(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  uint64_t before = 0, total = 0;
  if (!free_bytes(device, &before, &total)) not_applicable("the device has no memory_info");
  expect(total > 0 && before <= total, "memory_info says {} bytes free of {}", before, total);
  if (is_host_memory(bench.plugin)) return;
  const uint64_t held = std::min(64 * kMiB, total / 4);
  const ferry_memory block = device.alloc(held);
  const Bytes touched(static_cast<size_t>(std::min(held, 4 * kMiB)), 1);
  device.h2d({block, 0}, touched.data(), touched.size());
  uint64_t after = 0;
  (void)free_bytes(device, &after, &total);
  expect(after <= total, "memory_info says {} bytes free of {}", after, total);
  expect(after + held <= before,
         "while {} bytes are held, free falls from {} to {}: by less than that", held, before,
         after);
}

}  // namespace

std::vector<Check> memory_life_checks() {
  return {{"memory.open-close", open_close},
          {"memory.oom", oom},
          {"memory.oom-recovers", oom_recovers},
          {"memory.leak", leak},
          {"memory.info", memory_info}};
}

}  // namespace ferry::verify
