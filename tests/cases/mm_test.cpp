// SPDX-License-Identifier: Apache-2.0
//
// The cases of memory: after a failure, what a message says, which devices are
// opened, reuse across streams, counters, sizes beyond 64 bits.
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cases.h"
#include "ferry/io/load.h"
#include "ferry/memory.h"
#include "ferry/stream.h"

namespace ferry::test {
namespace {

Tensor bytes(int64_t count, const std::string& device) {
  return empty({count}, TensorOptions(kU8, Device(device)));
}

TEST_P(Cases, MM03_AfterRunningOutOfMemoryOperationsGoOn) {
  EXPECT_THROW((void)bytes(int64_t{1} << 50, GetParam()), OutOfMemoryError);
  EXPECT_EQ(sum(ones({100}, TensorOptions(device())) + 1).item<float>(), 200);
  synchronize(device());
  empty_cache(device());
  EXPECT_EQ(sum(ones({100}, TensorOptions(device()))).item<float>(), 100);
}

TEST(Alone, MM03_ALateFaultIsReportedOnceAndByNoDestructor) {
  int reported = 0;
  {
    const Tensor x = ones({4}, "sim:0");
    const Tensor failed = x + 1;  // the second kernel fails on the device
    for (int i = 0; i < 3; ++i) {
      try {
        empty_cache("sim:0");
        synchronize("sim:0");
      } catch (const DeviceError& e) {
        ++reported;
        EXPECT_TRUE(has(e.what(), "sim:0")) << e.what();
      }
    }
  }
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(sum(ones({4}, "sim:0")).item<float>(), 4);
  EXPECT_EQ(memory_allocated("sim:0"), 0u);
}

/// The error of asking sim:0 for so many MiB.
OutOfMemoryError refusal(int64_t mib) {
  try {
    (void)bytes(mib << 20, "sim:0");
  } catch (const OutOfMemoryError& e) {
    return e;
  }
  ADD_FAILURE() << "there was room";
  return {"", 0, 0, 0, 0, 0};
}

TEST(Alone, MM04_TheMessageTellsFragmentsFromFullness) {
  std::vector<Tensor> held;
  for (int i = 0; i < 10; ++i) held.push_back(bytes(10 << 20, "sim:0"));
  const std::string full = refusal(10).what();
  EXPECT_TRUE(has(full, "100.0 MiB in all, 0 bytes free")) << full;
  EXPECT_TRUE(has(full, "100.0 MiB in tensors and 0 bytes cached")) << full;
  EXPECT_FALSE(has(full, "pieces") || has(full, "others")) << full;
  // Whole segments are given back, so these are no fragments.
  for (size_t i = 0; i < held.size(); i += 2) held[i] = Tensor();
  held.push_back(bytes(40 << 20, "sim:0"));
  held.clear();
  empty_cache("sim:0");
  // Blocks of 3 MiB share segments, which live ones hold.
  for (int i = 0; i < 28; ++i) held.push_back(bytes(3 << 20, "sim:0"));
  for (size_t i = 0; i < held.size(); i += 2) held[i] = Tensor();
  const OutOfMemoryError e = refusal(35);
  EXPECT_TRUE(has(e.what(), "in pieces between live tensors")) << e.what();
  EXPECT_EQ(e.requested, 35u << 20);
  EXPECT_EQ(e.total, 100u << 20);
  EXPECT_GE(e.reserved - e.allocated, e.requested);
  EXPECT_LT(memory_stats("sim:0").largest_free, e.requested);
  EXPECT_EQ(e.allocated, memory_allocated("sim:0"));
}

TEST(Alone, MM04_WhatOthersHoldIsTold) {
  const OutOfMemoryError e = refusal(50);
  EXPECT_TRUE(has(e.what(), "others hold 60.0 MiB")) << e.what();
  EXPECT_EQ(e.free, 40u << 20);
  EXPECT_FALSE(has(e.what(), "pieces")) << e.what();
}

TEST(Alone, MM05_OnlyTheDeviceInUseIsOpened) {
  const auto untouched = [](const char* device) {
    const MemoryStats stats = memory_stats(device);
    return stats.allocations == 0 && stats.driver_allocations == 0 && stats.reserved == 0 &&
           memory_snapshot(device).empty();
  };
  // Before any use: nothing happens and all is 0.
  empty_cache();
  empty_cache("sim:0");
  synchronize("sim:0");
  EXPECT_TRUE(untouched("sim:0") && untouched("sim:1"));
  {
    const Tensor x = ones({1000}, "sim:1");
    EXPECT_EQ(x.cpu().pin_memory().to("sim:1").to_vector<float>()[999], 1);
  }
  empty_cache();
  EXPECT_EQ(memory_allocated("sim:0"), 0u);
  EXPECT_TRUE(untouched("sim:0"));
  EXPECT_EQ(pinned_memory_stats("sim:0").driver_allocations, 0u);
  EXPECT_GT(pinned_memory_stats("sim:1").driver_allocations, 0u);
}

TEST_P(Cases, MM06_ABlockReadOnAnotherStreamIsNotReusedTooEarly) {
  const Stream side(device());
  constexpr int64_t kCount = 1 << 16;
  for (int i = 0; i < 20; ++i) {
    Tensor a = full({kCount}, i, TensorOptions(kI32, device()));
    Tensor copy;
    {
      const StreamGuard guard(side);
      copy = a.to(Device(), {.non_blocking = true, .copy = true});
    }
    a = Tensor();
    const Tensor b = full({kCount}, -9, TensorOptions(kI32, device()));
    EXPECT_EQ(sum(copy).item<int64_t>(), i * kCount);
    EXPECT_EQ(sum(b).item<int64_t>(), -9 * kCount);
  }
}

TEST_P(Cases, MM08_CountersMeanWhatTheHeaderSays) {
  const uint64_t before = memory_allocated(device());
  std::vector<uint64_t> elsewhere;
  for (const std::string& name : device_names()) elsewhere.push_back(memory_allocated(name));
  {
    std::vector<Tensor> held;
    for (int i = 0; i < 4; ++i) held.push_back(bytes(1 << 20, GetParam()));
    reset_peak_memory_stats(device());
    const Tensor none = bytes(0, GetParam());
    const Tensor view = held[3].narrow(0, 7, 100);
    EXPECT_EQ(memory_allocated(device()), before + (4 << 20));
    held.resize(1);
    EXPECT_EQ(memory_allocated(device()), before + (2 << 20)) << "one held, one by its view";
    EXPECT_EQ(max_memory_allocated(device()), before + (4 << 20));
    reset_peak_memory_stats(device());
    EXPECT_EQ(max_memory_allocated(device()), before + (2 << 20));
    EXPECT_GE(memory_reserved(device()), memory_allocated(device()));
  }
  const std::vector<std::string> names = device_names();
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(memory_allocated(names[i]), elsewhere[i]);
  std::vector<float> values(1 << 20);
  const Tensor blob = from_blob(values.data(), {1 << 20}, kF32);
  EXPECT_EQ(memory_allocated(Device()), elsewhere[0]);
}

TEST_P(Cases, MM09_SizesBeyond64BitsAreRefusedBeforeAnythingIsAllocated) {
  const uint64_t before = memory_stats(device()).driver_allocations;
  const auto refused = [&](const Shape& shape, DType dtype) {
    return error_of([&] { (void)empty(shape, TensorOptions(dtype, device())); });
  };
  constexpr int64_t kOne = 1;
  EXPECT_TRUE(has(refused({2, 2, 1, kOne << 61}, kF32), "more bytes than 64 bits"));
  EXPECT_TRUE(has(refused({2, 4, kOne << 29, kOne << 29}, kF64), "more bytes than 64 bits"));
  EXPECT_TRUE(has(refused({-1, 2}, kF32), "negative size"));
  const Tensor none = empty({0, kOne << 62, 4}, TensorOptions(device()));
  EXPECT_EQ(none.numel(), 0);
  EXPECT_EQ(memory_stats(device()).driver_allocations, before);
  const Tensor x = zeros({4}, TensorOptions(device()));
  // Counted in 64 bits: more elements than an int has.
  EXPECT_EQ(x.narrow(0, 0, 1).expand({int64_t{4740} * 840 * 840}).numel(), 3344544000);
  for (const int64_t stride : {kOne << 31, kOne << 40, kOne << 62}) {
    EXPECT_TRUE(has(error_of([&] {
                      (void)x.as_strided({2, 2}, {stride, stride}, 0);
                    }),
                    "outside the storage"));
  }
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_THROW((void)x.as_strided({2}, {1}, most), InvalidArgument);
}

// ---- History --------------------------------------------------------------

TEST_P(Cases, MM08_TheHistoryTellsEveryBlock) {
  empty_cache(device());
  record_memory_history(true);
  { const Tensor x = bytes(5 << 20, GetParam()); }
  empty_cache(device());
  EXPECT_THROW((void)bytes(int64_t{1} << 50, GetParam()), OutOfMemoryError);
  record_memory_history(false);
  { const Tensor unseen = bytes(5 << 20, GetParam()); }
  std::vector<MemoryEvent> own;
  for (const MemoryEvent& e : memory_history()) {
    if (e.device == device() && !e.pinned) own.push_back(e);
  }
  using Kind = MemoryEvent::Kind;
  ASSERT_GE(own.size(), 5u);
  EXPECT_EQ(own[0].kind, Kind::kSegmentObtained);
  EXPECT_EQ(own[0].bytes, 6u << 20);
  EXPECT_EQ(own[1].kind, Kind::kAllocate);
  EXPECT_EQ(own[1].segment, own[0].segment);
  EXPECT_GE(own[1].allocated, 5u << 20);
  EXPECT_EQ(own[2].kind, Kind::kFree);
  EXPECT_EQ(own[2].allocated + own[2].bytes, own[1].allocated);
  EXPECT_EQ(own[3].kind, Kind::kSegmentReleased);
  EXPECT_EQ(own.back().kind, Kind::kOutOfMemory);
  EXPECT_EQ(own.back().bytes, uint64_t{1} << 50);
  for (size_t i = 1; i < own.size(); ++i) {
    EXPECT_LE(own[i - 1].microseconds, own[i].microseconds);
  }
  const ScratchFile file(".json");
  save_memory_history(file.path());
  std::ifstream in(file.path());
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json.at("format"), "ferry-memory/1");
  EXPECT_EQ(json.at("events").size(), memory_history().size());
  EXPECT_FALSE(json.at("devices").empty());
  EXPECT_THROW(save_memory_history("/no/such/folder/history.json"), FileError);
}

}  // namespace
}  // namespace ferry::test
