// SPDX-License-Identifier: Apache-2.0
//
// Level memory, the bytes: copies of every size and offset, and that they touch
// nothing else.
#include "checks_memory.h"

#include <algorithm>
#include <cstring>

#include "device.h"

namespace ferry::verify {
namespace {

constexpr uint64_t kOffsets[] = {0, 1, 2, 3, 7, 64, 255};

void expect_same(const Bytes& got, const Bytes& want, const std::string& what) {
  const std::string wrong = difference(got, want);
  expect(wrong.empty(), "{}: {}", what, wrong);
}

void round_trip(const std::string& path) {
  Bench bench(path);
  std::vector<uint64_t> sizes;
  for (uint64_t size = 1; size <= 257; ++size) sizes.push_back(size);
  sizes.insert(sizes.end(), {4095, 4096, 4097, (1 << 20) + 3});
  for (const uint64_t size : sizes) {
    const Bytes want = pattern(size, static_cast<uint32_t>(size));
    const ferry_memory block = bench.device.block_of(want);
    expect_same(bench.device.read(block, size), want,
                fmt::format("after h2d and d2h of {} bytes", size));
    bench.device.release(block);
  }
}

void offsets(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  const ferry_memory a = device.alloc(4096);
  const ferry_memory b = device.alloc(4096);
  const Bytes source = pattern(2048, 1);
  uint32_t seed = 2;
  for (const uint64_t n : {uint64_t{1}, uint64_t{5}, uint64_t{64}, uint64_t{1000}}) {
    for (const uint64_t x : kOffsets) {
      for (const uint64_t y : kOffsets) {
        const Bytes want = pattern(n, ++seed);
        Bytes host(2048);
        std::copy(want.begin(), want.end(), host.begin() + static_cast<std::ptrdiff_t>(x));
        device.h2d({a, y}, host.data() + x, n);
        Bytes got(2048);
        device.d2h(got.data() + x, {a, y}, n);
        const auto begin = got.begin() + static_cast<std::ptrdiff_t>(x);
        const std::string where =
            fmt::format("{} bytes, host offset {}, device offset {}", n, x, y);
        expect_same(Bytes(begin, begin + static_cast<std::ptrdiff_t>(n)), want,
                    "after h2d and d2h of " + where);
        device.d2d({b, x}, {a, y}, n);
        expect_same(device.read(b, n, x), want,
                    fmt::format("after d2d of {} bytes from offset {} to {}", n, y, x));
      }
    }
  }
}

/// Fails where `got` differs from `before` outside of the range, or from `want`
/// inside.
void expect_only_range(const Bytes& got, const Bytes& before, const Bytes& want, uint64_t begin,
                       const std::string& call) {
  for (uint64_t i = 0; i < got.size(); ++i) {
    const bool inside = i >= begin && i < begin + want.size();
    const uint8_t right = inside ? want[i - begin] : before[i];
    expect(got[i] == right, "{} to bytes {}..{} makes byte {} {}, not {}", call, begin,
           begin + want.size() - 1, i, got[i], right);
  }
}

void bounds(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  const Bytes before = pattern(2048, 1);
  const ferry_memory target = device.block_of(before);
  const ferry_memory source = device.block_of(pattern(2048, 9));
  for (const uint64_t n : {1, 2, 3, 7, 8, 15, 17, 31, 63, 64, 65, 100, 127, 255, 511, 1000}) {
    for (const uint64_t at : {uint64_t{0}, uint64_t{5}, uint64_t{256}, 2048 - n}) {
      const Bytes want = pattern(n, static_cast<uint32_t>(n + at));
      device.h2d({target, 0}, before.data(), before.size());
      device.h2d({target, at}, want.data(), n);
      expect_only_range(device.read(target, 2048), before, want, at,
                        fmt::format("h2d of {} bytes", n));
      device.h2d({source, 7}, want.data(), n);
      device.h2d({target, 0}, before.data(), before.size());
      device.d2d({target, at}, {source, 7}, n);
      expect_only_range(device.read(target, 2048), before, want, at,
                        fmt::format("d2d of {} bytes", n));
      Bytes host = before;
      device.d2h(host.data() + at, {source, 7}, n);
      expect_only_range(host, before, want, at, fmt::format("d2h of {} bytes", n));
    }
  }
}

void separate(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  constexpr uint32_t kBlocks = 300;
  std::vector<ferry_memory> blocks;
  const auto size_of = [](uint32_t i) { return uint64_t{1} + i * 37 % 5000; };
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < kBlocks; ++i) blocks.push_back(device.alloc(size_of(i)));
    for (uint32_t i = 0; i < kBlocks; ++i) {
      device.h2d({blocks[i], 0}, pattern(size_of(i), i).data(), size_of(i));
    }
    for (uint32_t i = 0; i < kBlocks; ++i) {
      expect_same(device.read(blocks[i], size_of(i)), pattern(size_of(i), i),
                  fmt::format("block {} of {}, each with bytes of its own", i, kBlocks));
    }
    // Freed in another order than made, so that the next round meets holes.
    for (uint32_t i = 0; i < kBlocks; ++i) device.release(blocks[(i * 7) % kBlocks]);
    blocks.clear();
  }
}

void alignment(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  const ferry_device_info info = bench.plugin.info();
  const bool is_address = (info.caps & FERRY_CAP_HANDLE_IS_ADDRESS) != 0;
  expect(info.alignment > 0, "info(0).alignment is 0");
  for (const uint64_t size :
       {1, 2, 3, 5, 8, 17, 63, 64, 65, 100, 255, 257, 1000, 4095, 4097, 65537}) {
    const ferry_memory block = device.alloc(size);
    expect(!is_address || block.handle % info.alignment == 0,
           "a block of {} bytes is at {:#x}, no multiple of the alignment, {}", size, block.handle,
           info.alignment);
    const uint8_t byte = 0x5a;
    device.h2d({block, size - 1}, &byte, 1);
    expect_same(device.read(block, 1, size - 1), {byte},
                fmt::format("the last byte of a block of {} bytes", size));
  }
}

void fill(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  const ferry_core_api& core = device.core();
  if (!FERRY_HAS(&core, fill) || core.fill == nullptr) not_applicable("no fill in the core table");
  const Bytes before = pattern(2048, 4);
  const ferry_memory target = device.alloc(2048);
  for (const uint64_t n : {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 255, 1000}) {
    for (const uint64_t at : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{3}, 2048 - n}) {
      for (const int value : {0, 1, 0xab, 0xff}) {
        device.h2d({target, 0}, before.data(), before.size());
        const std::string call = fmt::format("fill of {} bytes with {}", n, value);
        step(call);
        const ferry_rc rc =
            core.fill(device.handle(), nullptr, {target, at}, static_cast<uint8_t>(value), n);
        if (rc == FERRY_E_MISSING) not_applicable("fill gives FERRY_E_MISSING");
        expect_ok(rc, call);
        expect_only_range(device.read(target, 2048), before, Bytes(n, static_cast<uint8_t>(value)),
                          at, call);
      }
    }
  }
}

void pinned(const std::string& path) {
  Bench bench(path);
  OpenDevice& device = bench.device;
  constexpr uint64_t kSize = (1 << 20) + 5;
  ferry_memory memory{0};
  const int calls = fail_text().calls;
  step("alloc of pinned memory");
  const ferry_rc rc = device.core().alloc(device.handle(), FERRY_SPACE_PINNED, kSize, &memory);
  if (rc != FERRY_OK) {
    expect(rc < 0, "alloc of pinned memory gives {}, neither FERRY_OK nor an error", rc_name(rc));
    expect(fail_text().calls > calls && !fail_text().text.empty(),
           "alloc of pinned memory gives {} without a text through host->fail", rc_name(rc));
    expect(memory.handle == 0, "alloc of pinned memory fails and writes a handle");
    not_applicable("no pinned memory: {}", fail_text().text);
  }
  auto* const host = reinterpret_cast<uint8_t*>(memory.handle);
  const Bytes want = pattern(kSize, 6);
  step("writing to pinned memory as a host address");
  std::memcpy(host, want.data(), kSize);
  const ferry_memory block = device.alloc(kSize);
  device.h2d({block, 0}, host, kSize);
  std::memset(host, 0, kSize);
  device.d2h(host, {block, 0}, kSize);
  expect_same(Bytes(host, host + kSize), want, "after h2d and d2h through pinned memory");
  step("release of pinned memory");
  expect_ok(device.core().release(device.handle(), memory), "release of pinned memory");
}

}  // namespace

std::vector<Check> memory_checks() {
  std::vector<Check> checks = {{"memory.round-trip", round_trip}, {"memory.offsets", offsets},
                               {"memory.bounds", bounds},         {"memory.separate", separate},
                               {"memory.alignment", alignment},   {"memory.fill", fill},
                               {"memory.pinned", pinned}};
  for (Check& check : memory_life_checks()) checks.push_back(std::move(check));
  return checks;
}

}  // namespace ferry::verify
