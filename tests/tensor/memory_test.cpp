// SPDX-License-Identifier: Apache-2.0
//
// Counters, the cache, running out of memory and going on.
#include "ferry/memory.h"
#include "common.h"

namespace ferry::test {
namespace {

class Memory : public OnDevice {
 protected:
  Tensor bytes(int64_t n) const { return empty({n}, TensorOptions(kU8, device())); }
  bool simulated() const { return GetParam().starts_with("sim"); }
};
FERRY_ON_EVERY_DEVICE(Memory);

TEST_P(Memory, CountersFollowTensors) {
  const uint64_t before = memory_allocated(device());
  {
    const Tensor a = bytes(3 << 20);
    const uint64_t with_a = memory_allocated(device());
    EXPECT_GE(with_a, before + (3 << 20));
    EXPECT_LE(with_a, before + (4 << 20));
    const Tensor view = a.narrow(0, 0, 10);
    EXPECT_EQ(memory_allocated(device()), with_a);
    reset_peak_memory_stats(device());
    { const Tensor b = bytes(5 << 20); }
    EXPECT_EQ(memory_allocated(device()), with_a);
    EXPECT_GE(max_memory_allocated(device()), with_a + (5 << 20));
  }
  EXPECT_EQ(memory_allocated(device()), before);
  EXPECT_GE(memory_reserved(device()), memory_allocated(device()));
  empty_cache(device());
  const MemoryStats stats = memory_stats(device());
  EXPECT_EQ(stats.allocated, before);
  EXPECT_GT(stats.allocations, 0u);
  EXPECT_NE(memory_summary(device()).find("in tensors"), std::string::npos);
}

TEST_P(Memory, FreedBlocksAreReused) {
  { const Tensor warm = bytes(8 << 20); }
  const uint64_t from_driver = memory_stats(device()).driver_allocations;
  for (int i = 0; i < 50; ++i) {
    const Tensor a = bytes(8 << 20);
    const Tensor b = bytes(100);
  }
  EXPECT_LE(memory_stats(device()).driver_allocations, from_driver + 1);
}

TEST_P(Memory, SegmentsAreCutWithoutGapsAndMerged) {
  empty_cache(device());
  const uint64_t baseline = memory_reserved(device());
  {
    std::vector<Tensor> held;
    for (int64_t i = 1; i < 40; ++i) held.push_back(bytes(i * 10007));
    for (size_t i = 0; i < held.size(); i += 2) held[i] = Tensor();
    for (const MemorySegment& segment : memory_snapshot(device())) {
      uint64_t next = 0;
      for (const auto& piece : segment.blocks) {
        EXPECT_EQ(piece.offset, next);
        next += piece.bytes;
      }
      EXPECT_EQ(next, segment.bytes);
    }
  }
  empty_cache(device());
  EXPECT_LE(memory_reserved(device()), baseline);
}

TEST_P(Memory, OutOfMemoryIsSurvived) {
  if (!simulated()) GTEST_SKIP() << "only where memory is small";
  std::vector<Tensor> held;
  const uint64_t before = memory_allocated(device());
  try {
    for (;;)
      held.push_back(
          full({1 << 20}, static_cast<int64_t>(held.size()), TensorOptions(kI64, device())));
  } catch (const OutOfMemoryError& e) {
    EXPECT_EQ(e.requested, 8u << 20);
    EXPECT_EQ(e.total, 256u << 20);
    EXPECT_GE(e.allocated, held.size() * (8u << 20));
    EXPECT_GE(e.reserved, e.allocated);
    EXPECT_NE(std::string(e.what()).find(GetParam()), std::string::npos);
  }
  EXPECT_GE(held.size(), 30u);
  for (size_t i = 0; i < held.size(); ++i) {
    EXPECT_EQ(held[i].select(0, 77).item<int64_t>(), static_cast<int64_t>(i));
  }
  held.clear();
  EXPECT_EQ(memory_allocated(device()), before);
  EXPECT_EQ(sum(ones({1 << 22}, TensorOptions(device()))).item<float>(), 1 << 22);
}

TEST_P(Memory, CacheIsGivenBackToMakeRoom) {
  if (!simulated()) GTEST_SKIP() << "only where memory is small";
  { const Tensor a = bytes(200 << 20); }
  EXPECT_GE(memory_reserved(device()), 200u << 20);
  const Tensor b = bytes(230 << 20);  // does not fit beside the cached block
  EXPECT_GE(memory_stats(device()).retries, 1u);
  EXPECT_LE(memory_reserved(device()), 256u << 20);
}

TEST_P(Memory, LimitsHold) {
  empty_cache(device());
  set_memory_limit(device(), memory_reserved(device()) + (24 << 20));
  const Tensor fits = bytes(16 << 20);
  EXPECT_THROW((void)bytes(64 << 20), OutOfMemoryError);
  set_memory_limit(device(), 0);
  const Tensor now = bytes(64 << 20);
}

TEST_P(Memory, DriverNumbersMakeSense) {
  const MemoryInfo info = mem_get_info(device());
  EXPECT_GT(info.total, 0u);
  EXPECT_LE(info.free, info.total);
  EXPECT_EQ(device_properties(device()).total_memory, info.total);
}

}  // namespace
}  // namespace ferry::test
