// SPDX-License-Identifier: Apache-2.0
//
// Level streams: order within a stream and between two, events, and many of
// them from many threads.
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "check.h"
#include "stream.h"

namespace ferry::verify {
namespace {

using Clock = std::chrono::steady_clock;
constexpr uint64_t kMiB = uint64_t{1} << 20;

/// A device with streams.
struct StreamBench : Bench {
  explicit StreamBench(const std::string& path)
      : Bench(path), streams(streams_of(plugin, device)) {}
  const ferry_stream_api& streams;
};

void expect_same(const Bytes& got, const Bytes& want, const std::string& what) {
  const std::string wrong = difference(got, want);
  expect(wrong.empty(), "{}: {}", what, wrong);
}

bool has_host_function(const ferry_stream_api* api) {
  return FERRY_HAS(api, host_function) && api->host_function != nullptr;
}

/// A host function that holds its stream until it is opened, at most a second.
class Gate {
 public:
  /// False where the plugin has no host functions.
  bool hold(StreamBench& bench, const OpenStream& stream) {
    if (!has_host_function(&bench.streams)) return false;
    step("host_function");
    const ferry_rc rc =
        bench.streams.host_function(bench.device.handle(), stream.handle(), &wait, this);
    if (rc == FERRY_E_MISSING) return false;
    expect_ok(rc, "host_function");
    return true;
  }
  void open() { open_ = true; }
  bool has_passed() const { return passed_; }

 private:
  static void wait(void* self) {
    auto& gate = *static_cast<Gate*>(self);
    const auto begin = Clock::now();
    while (!gate.open_ && Clock::now() - begin < std::chrono::seconds(1)) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    gate.passed_ = true;
  }
  std::atomic<bool> open_{false}, passed_{false};
};

void order(const std::string& path) {
  StreamBench bench(path);
  constexpr uint32_t kRounds = 40;
  constexpr uint64_t kSize = 64 << 10;
  const ferry_memory x = bench.device.alloc(kSize), y = bench.device.alloc(kSize);
  OpenStream stream(bench.streams, bench.device);
  std::vector<Bytes> in, out(kRounds, Bytes(kSize));
  for (uint32_t i = 0; i < kRounds; ++i) in.push_back(pattern(kSize, i));
  for (uint32_t i = 0; i < kRounds; ++i) {
    bench.device.h2d({x, 0}, in[i].data(), kSize, stream.handle());
    bench.device.d2d({y, 0}, {x, 0}, kSize, stream.handle());
    bench.device.d2h(out[i].data(), {y, 0}, kSize, stream.handle());
  }
  stream.sync();
  for (uint32_t i = 0; i < kRounds; ++i) {
    expect_same(out[i], in[i], fmt::format("round {} of h2d, d2d and d2h on one stream", i));
  }
}

void event_done(const std::string& path) {
  StreamBench bench(path);
  constexpr uint64_t kSize = 4 * kMiB;
  const ferry_memory x = bench.device.alloc(kSize), y = bench.device.alloc(kSize);
  OpenStream stream(bench.streams, bench.device);
  for (uint32_t round = 0; round < 8; ++round) {
    const Bytes in = pattern(kSize, round);
    Bytes out(kSize);
    OpenEvent event(bench.streams, bench.device);
    Gate gate;
    const bool held = gate.hold(bench, stream);
    bench.device.h2d({x, 0}, in.data(), kSize, stream.handle());
    bench.device.d2d({y, 0}, {x, 0}, kSize, stream.handle());
    bench.device.d2h(out.data(), {y, 0}, kSize, stream.handle());
    event.record(stream);
    const bool happened = event.query();
    const bool passed = gate.has_passed();
    gate.open();
    expect(!held || !happened || passed,
           "event_query gives FERRY_OK while work before the event is held back");
    if (happened) expect_same(out, in, "the work before an event whose query gave FERRY_OK");
    event.sync();
    expect_same(out, in, "the work before an event, after event_sync");
    stream.sync();
  }
}

void wait(const std::string& path) {
  StreamBench bench(path);
  constexpr uint64_t kSize = kMiB;
  const ferry_memory x = bench.device.alloc(kSize);
  OpenStream first(bench.streams, bench.device), second(bench.streams, bench.device);
  for (uint32_t round = 0; round < 12; ++round) {
    const Bytes in = pattern(kSize, round + 100);
    Bytes out(kSize);
    OpenEvent event(bench.streams, bench.device);
    Gate gate;
    (void)gate.hold(bench, first);
    bench.device.h2d({x, 0}, in.data(), kSize, first.handle());
    event.record(first);
    second.wait(event.handle());
    bench.device.d2h(out.data(), {x, 0}, kSize, second.handle());
    // Time for a second stream that does not wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    gate.open();
    second.sync();
    expect_same(out, in, "what a stream reads after stream_wait for the stream that wrote it");
    first.sync();
  }
}

void query(const std::string& path) {
  StreamBench bench(path);
  const ferry_memory x = bench.device.alloc(kMiB);
  OpenStream stream(bench.streams, bench.device);
  OpenEvent event(bench.streams, bench.device);
  const Bytes in = pattern(kMiB, 1);
  for (int round = 0; round < 20; ++round) {
    bench.device.h2d({x, 0}, in.data(), kMiB, stream.handle());
    event.record(stream);
    const auto begin = Clock::now();
    while (!event.query()) {
      expect(Clock::now() - begin < std::chrono::seconds(10),
             "event_query still gives FERRY_NOT_READY 10 s after a copy of 1 MiB");
      std::this_thread::yield();
    }
    expect(event.query(), "event_query gives FERRY_NOT_READY after it gave FERRY_OK");
  }
}

struct Called {
  std::atomic<int> times{0};
  std::atomic<int> early{0};
  const Bytes* got = nullptr;
  const Bytes* want = nullptr;
  static void call(void* self) {
    auto& called = *static_cast<Called*>(self);
    if (*called.got != *called.want) ++called.early;
    ++called.times;
  }
};

void host_function(const std::string& path) {
  StreamBench bench(path);
  if (!has_host_function(&bench.streams)) not_applicable("the stream table has no host_function");
  const ferry_memory x = bench.device.alloc(kMiB);
  OpenStream stream(bench.streams, bench.device);
  for (uint32_t round = 0; round < 10; ++round) {
    const Bytes in = pattern(kMiB, round + 1);
    Bytes out(kMiB);
    Called called;
    called.got = &out;
    called.want = &in;
    bench.device.h2d({x, 0}, in.data(), kMiB, stream.handle());
    bench.device.d2h(out.data(), {x, 0}, kMiB, stream.handle());
    step("host_function");
    const ferry_rc rc =
        bench.streams.host_function(bench.device.handle(), stream.handle(), &Called::call, &called);
    if (rc == FERRY_E_MISSING) not_applicable("host_function gives FERRY_E_MISSING");
    expect_ok(rc, "host_function");
    stream.sync();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    expect(called.times == 1, "after sync a host function has been called {} times, not once",
           called.times.load());
    expect(called.early == 0, "a host function is called before the copy that precedes it is done");
  }
}

void elapsed(const std::string& path) {
  StreamBench bench(path);
  if (!FERRY_HAS(&bench.streams, event_elapsed) || bench.streams.event_elapsed == nullptr) {
    not_applicable("the stream table has no event_elapsed");
  }
  constexpr uint64_t kSize = 4 * kMiB;
  const ferry_memory x = bench.device.alloc(kSize);
  OpenStream stream(bench.streams, bench.device);
  OpenEvent begin(bench.streams, bench.device), middle(bench.streams, bench.device),
      end(bench.streams, bench.device);
  const Bytes in = pattern(kSize, 1);
  const auto started = Clock::now();
  begin.record(stream);
  bench.device.h2d({x, 0}, in.data(), kSize, stream.handle());
  middle.record(stream);
  for (int i = 0; i < 8; ++i) bench.device.h2d({x, 0}, in.data(), kSize, stream.handle());
  end.record(stream);
  end.sync();
  const double most =
      std::chrono::duration<double, std::milli>(Clock::now() - started).count() * 1.05 + 1;
  double part = -1, whole = -1;
  const auto measure = [&](const OpenEvent& to, double* ms) {
    step("event_elapsed");
    const ferry_rc rc =
        bench.streams.event_elapsed(bench.device.handle(), begin.handle(), to.handle(), ms);
    if (rc == FERRY_E_MISSING) not_applicable("event_elapsed gives FERRY_E_MISSING");
    expect_ok(rc, "event_elapsed");
  };
  measure(middle, &part);
  measure(end, &whole);
  expect(part >= 0, "event_elapsed gives {} ms from an event to a later one", part);
  expect(whole > part,
         "event_elapsed gives {} ms to an event after nine copies, {} ms to one "
         "after the first",
         whole, part);
  expect(whole <= most, "event_elapsed gives {} ms, by the host's clock it was at most {} ms",
         whole, most);
}

void many(const std::string& path) {
  StreamBench bench(path);
  constexpr int kMany = 256;
  const ferry_memory x = bench.device.alloc(kMany);
  const Bytes in = pattern(kMany, 1);
  int files = 0, running = 0;
  uint64_t resident = 0;
  for (int round = 0; round < 4; ++round) {
    {
      std::deque<OpenStream> streams;
      std::deque<OpenEvent> events;
      for (int i = 0; i < kMany; ++i) {
        streams.emplace_back(bench.streams, bench.device);
        events.emplace_back(bench.streams, bench.device);
        const auto at = static_cast<uint64_t>(i);
        bench.device.h2d({x, at}, in.data() + i, 1, streams.back().handle());
        events.back().record(streams.back());
      }
      for (OpenEvent& event : events) event.sync();
      expect_same(bench.device.read(x, kMany), in, "bytes written on 256 streams");
    }
    if (round > 0) {
      const int still = threads_settling_at(running);
      expect(still <= running, "after another 256 streams the process has {} threads, not {}",
             still, running);
      expect(open_files() <= files, "after another 256 streams {} files are open, not {}",
             open_files(), files);
    } else {
      running = threads_settling_at(1);
      files = open_files();
      resident = resident_bytes();
    }
  }
  expect(resident_bytes() <= resident + 16 * kMiB,
         "after another 768 streams the process has {} MiB resident, {} MiB before",
         resident_bytes() / kMiB, resident / kMiB);
}

void copies_of_one_thread(StreamBench& bench, uint32_t number) {
  OpenStream stream(bench.streams, bench.device);
  constexpr uint64_t kSize = 100003;
  const Plugin& plugin = bench.plugin;
  ferry_memory x{0};
  // Not through OpenDevice, whose list of blocks is one thread's.
  expect_ok(plugin.core().alloc(bench.device.handle(), FERRY_SPACE_DEVICE, kSize, &x), "alloc");
  for (uint32_t round = 0; round < 20; ++round) {
    const Bytes in = pattern(kSize, number * 1000 + round);
    Bytes out(kSize);
    bench.device.h2d({x, 0}, in.data(), kSize, stream.handle());
    bench.device.d2h(out.data(), {x, 0}, kSize, stream.handle());
    stream.sync();
    expect_same(out, in, fmt::format("copies of thread {}, each with a stream of its own", number));
  }
  expect_ok(plugin.core().release(bench.device.handle(), x), "release");
}

void in_threads(const std::string& path) {
  StreamBench bench(path);
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::string failure;
  for (uint32_t t = 0; t < 8; ++t) {
    workers.emplace_back([&, t] {
      try {
        copies_of_one_thread(bench, t);
      } catch (const Failed& failed) {
        const std::lock_guard lock(mutex);
        failure = failed.text;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  if (!failure.empty()) throw Failed{failure};
}

void sync_all(const std::string& path) {
  StreamBench bench(path);
  constexpr uint64_t kSize = kMiB;
  constexpr uint32_t kStreams = 4;
  std::deque<OpenStream> streams;
  std::vector<ferry_memory> blocks;
  for (uint32_t i = 0; i < kStreams; ++i) {
    streams.emplace_back(bench.streams, bench.device);
    blocks.push_back(bench.device.alloc(kSize));
  }
  for (uint32_t round = 0; round < 8; ++round) {
    std::vector<Bytes> in, out(kStreams, Bytes(kSize));
    for (uint32_t i = 0; i < kStreams; ++i) in.push_back(pattern(kSize, round * 8 + i));
    Gate gates[kStreams];
    for (uint32_t i = 0; i < kStreams; ++i) {
      (void)gates[i].hold(bench, streams[i]);
      bench.device.h2d({blocks[i], 0}, in[i].data(), kSize, streams[i].handle());
      bench.device.d2h(out[i].data(), {blocks[i], 0}, kSize, streams[i].handle());
    }
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      for (Gate& gate : gates) gate.open();
    });
    step("sync of the device with four streams");
    const ferry_rc rc = bench.device.core().sync(bench.device.handle(), nullptr);
    opener.join();
    expect_ok(rc, "sync of the device");
    for (uint32_t i = 0; i < kStreams; ++i) {
      expect_same(out[i], in[i], fmt::format("the work of stream {} after sync(NULL)", i));
    }
  }
}

}  // namespace

std::vector<Check> stream_checks() {
  return {{"streams.order", order},
          {"streams.event-done", event_done},
          {"streams.wait", wait},
          {"streams.query", query},
          {"streams.host-function", host_function},
          {"streams.elapsed", elapsed},
          {"streams.many", many},
          {"streams.threads", in_threads},
          {"streams.sync-all", sync_all}};
}

}  // namespace ferry::verify
