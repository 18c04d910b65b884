// SPDX-License-Identifier: Apache-2.0
//
// The cases of to(): late copies, freed sources, pairs of devices, strides,
// empty tensors, identity.
#include <atomic>
#include <string>
#include <vector>

#include "cases.h"
#include "ferry/io/load.h"
#include "ferry/log.h"
#include "ferry/memory.h"

namespace ferry::test {
namespace {

FERRY_ON_EVERY_DEVICE(Cases);

/// A late copy is one that a slow device has not done when the call returns.
int rounds() { return std::getenv("FERRY_SIM_LATENCY_US") != nullptr ? 1 : 25; }

TEST_P(Cases, TO01_EveryHostReadWaitsForALateCopy) {
  constexpr int64_t kCount = 100000;
  for (int i = 0; i < rounds(); ++i) {
    const auto late = [&] {
      const Tensor slow = exp(full({kCount}, 0.0, TensorOptions(device()))) * i;
      return slow.to(Device(), {.non_blocking = true});
    };
    const auto expected = static_cast<float>(i);
    EXPECT_EQ(late().select(0, kCount - 1).item<float>(), expected);
    EXPECT_EQ(late().to_vector<float>()[kCount - 1], expected);
    EXPECT_EQ(sum(late()).item<float>(), expected * kCount);
    EXPECT_EQ(late().data_ptr<float>()[kCount - 1], expected);
    EXPECT_EQ(late().to(kI64).to(device()).select(0, kCount - 1).item<int64_t>(), i);
    EXPECT_TRUE(has(late().narrow(0, kCount - 1, 1).str(), std::to_string(i)));
  }
  const Tensor slow = full({kCount}, 7, TensorOptions(device())) + 1;
  const ScratchFile file(".safetensors");
  StateDict state;
  state.set("x", slow.to(Device(), {.non_blocking = true}));
  save(state, file.path());
  EXPECT_EQ(sum(load(file.path()).at("x")).item<int64_t>(), 8 * kCount);
}

TEST_P(Cases, TO02_APinnedSourceIsKeptUntilItsCopyHappened) {
  constexpr int64_t kCount = 1 << 18;
  const ToOptions late{.non_blocking = true, .copy = true};
  for (int i = 0; i < rounds(); ++i) {
    Tensor pinned = ones({kCount}, TensorOptions().pinned_memory());
    ASSERT_TRUE(pinned.is_pinned());
    const Tensor there = pinned.to(device(), late);
    pinned = Tensor();
    const Tensor next = full({kCount}, 2.0, TensorOptions().pinned_memory());
    EXPECT_EQ(sum(there).item<float>(), kCount);
    EXPECT_EQ(next.to_vector<float>()[kCount - 1], 2);
    // Writes through Ferry come after the copy by themselves.
    const Tensor again = next.to(device(), late);
    next.fill_(3);
    EXPECT_EQ(sum(again).item<float>(), 2 * kCount);
  }
  std::vector<float> values(kCount, 1.0f);
  const Tensor there = from_blob(values.data(), {kCount}, kF32).to(device(), late);
  std::fill(values.begin(), values.end(), 0.0f);
  EXPECT_EQ(sum(there).item<float>(), kCount);
}

TEST_P(Cases, TO04_DeviceAndDtypeInOneCallAreTheTwoSteps) {
  for (const std::string& other : device_names()) {
    const Tensor x = ones({10}, TensorOptions(kF64, device()));
    const Tensor like = zeros({1}, TensorOptions(kF32, Device(other)));
    for (const Tensor& y : {x.to(Device(other), kF32), x.to(like), x.to(Device(other)).to(kF32),
                            x.to(kF32).to(Device(other))}) {
      EXPECT_EQ(y.dtype(), kF32);
      EXPECT_EQ(y.device(), Device(other));
      EXPECT_EQ(y.to_vector<float>(), std::vector<float>(10, 1.0f));
    }
  }
}

std::vector<int32_t> pattern() {
  std::vector<int32_t> out(1024);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int32_t>(i * 2654435761u | 1);
  return out;
}

TEST_P(Cases, TO05_APatternArrivesOnEveryDevice) {
  for (const std::string& other : device_names()) {
    const Tensor here = tensor(pattern(), {1024}, device());
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(here.to(Device(other), {.copy = true}).to_vector<int32_t>(), pattern()) << other;
    }
  }
}

/// The copies of every ordered pair, from the first of the process on, and how
/// often the log says that direct ones do not work.
int warnings_of_all_pairs(int devices) {
  std::atomic<int> lines{0};
  set_log_callback(
      [&](LogLevel, std::string_view, std::string_view text) {
        if (text.find("direct copies") != std::string_view::npos) ++lines;
      },
      LogLevel::kWarn);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < devices; ++i) {
      for (int j = 0; j < devices; ++j) {
        const Tensor here = tensor(pattern(), {1024}, Device("sim", i));
        EXPECT_EQ(here.to(Device("sim", j)).to_vector<int32_t>(), pattern()) << i << " to " << j;
      }
    }
  }
  set_log_callback({});
  return lines;
}

TEST(Alone, TO05_PeerPairsAreProvenOnce) { EXPECT_EQ(warnings_of_all_pairs(3), 6); }
TEST(Alone, TO05_AVariableForcesStaging) { EXPECT_EQ(warnings_of_all_pairs(3), 0); }

TEST_P(Cases, TO09_StridesAreGatheredBeforeABackendCopies) {
  const Tensor x = tensor<float>({1, 2, 3, 4}, device()).view({1, 4, 1});
  const std::vector<float> thrice = {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4};
  for (const std::string& other : device_names()) {
    for (const bool late : {false, true}) {
      const ToOptions options{.non_blocking = late, .copy = true};
      EXPECT_EQ(x.expand({1, 4, 3}).to(Device(other), options).to_vector<float>(), thrice);
      const Tensor turned = tensor<int64_t>({0, 1, 2, 3, 4, 5}, device()).view({2, 3}).t();
      EXPECT_EQ(turned.to(Device(other), options).to_vector<int64_t>(),
                (std::vector<int64_t>{0, 3, 1, 4, 2, 5}));
    }
  }
}

TEST_P(Cases, TO10_WritesIntoSharedElementsAreRefusedAlike) {
  const Tensor t = zeros({1}, TensorOptions(device())).expand({3});
  const Tensor values = tensor<float>({0, 1, 2}, device());
  EXPECT_EQ(error_of([&] { t.copy_(values); }),
            "[copy_] elements of the target (shape [3], strides [0]) share memory; clone() it "
            "first");
  EXPECT_TRUE(has(error_of([&] { t.fill_(1); }), "clone() it first"));
  EXPECT_EQ(t.to_vector<float>(), std::vector<float>(3, 0));
}

TEST_P(Cases, TO11_NothingIsMovedWithoutElements) {
  for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{2, 0, 4}, Shape{2, 1, 1, 0}}) {
    const Tensor x = empty(shape, TensorOptions(kF16, device()));
    for (const Tensor& y : {x.to(device()), x.cpu(), x.to(kF64), x.clone(), x.fill_(1), x + x,
                            eq(x, x), cat({x, x}, 0)}) {
      EXPECT_EQ(y.numel(), 0);
      EXPECT_EQ(y.dim(), x.dim());
    }
    EXPECT_EQ(x.cpu().shape(), shape);
    EXPECT_EQ(x.cpu().dtype(), kF16);
    EXPECT_EQ(x.to(kF64).device(), device());
    EXPECT_EQ(sum(x).item<float>(), 0);
    EXPECT_TRUE(has(x.str(), "tensor([")) << x.str();
    EXPECT_EQ(x.cpu().pin_memory().shape(), shape);
    const ScratchFile file(".safetensors");
    StateDict state;
    state.set("x", x);
    save(state, file.path());
    EXPECT_EQ(Tensor(load(file.path()).at("x")).shape(), shape);
  }
  EXPECT_EQ(full({}, 2.0, TensorOptions(device())).cpu().shape(), Shape{});
}

TEST_P(Cases, TO12_NothingToChangeIsTheSameStorageAndACopyNever) {
  const Tensor x = ones({3}, TensorOptions(device()));
  for (const Tensor& same : {x.to(device()), x.to(kF32), x.to(device(), kF32), x.to(x)}) {
    EXPECT_TRUE(same.is_same(x));
  }
  x.to(kF32).fill_(4);
  EXPECT_EQ(x.to_vector<float>()[2], 4);
  for (const Tensor& fresh :
       {x.to(device(), {.copy = true}), x.to(kF32, {.copy = true}), x.to(x, {.copy = true})}) {
    EXPECT_FALSE(fresh.shares_storage(x));
    fresh.fill_(5);
    EXPECT_EQ(x.to_vector<float>()[2], 4);
  }
}

TEST_P(Cases, TO21_ACallersBufferIsReleasedOnceAfterItsCopies) {
  int calls = 0;
  std::vector<float> values(1 << 18, 1.0f);
  {
    Tensor blob = from_blob(values.data(), {1 << 18}, kF32, [&](void* data) {
      ++calls;
      // Whatever still reads it would see this.
      std::fill_n(static_cast<float*>(data), 1 << 18, 0.0f);
    });
    const Tensor a = blob.to(device(), {.non_blocking = true, .copy = true});
    const Tensor b = blob.pin_memory();
    const Tensor c = blob.to(device(), kF64);
    blob = Tensor();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(sum(a).item<float>(), 1 << 18);
    EXPECT_EQ(sum(b).item<float>(), 1 << 18);
    EXPECT_EQ(sum(c).item<double>(), 1 << 18);
  }
  EXPECT_EQ(calls, 1);
  // A pending write into the caller's memory is waited for, too.
  std::vector<int32_t> target(1 << 18, -1);
  std::vector<int32_t> at_the_end;
  {
    const Tensor blob =
        from_blob(target.data(), {1 << 18}, kI32, [&](void*) { at_the_end = target; });
    blob.copy_(full({1 << 18}, 6, TensorOptions(kI32, device())) + 1);
  }
  EXPECT_EQ(at_the_end, std::vector<int32_t>(1 << 18, 7));
}

// ---- Pinned memory --------------------------------------------------------

TEST_P(Cases, TO02_PinnedTensorsAreOrdinaryTensorsOfTheCpu) {
  const Tensor x = arange(0, 6, 1, TensorOptions(kF32, Device())).view({2, 3}).t();
  EXPECT_FALSE(x.is_pinned());
  const Tensor pinned = x.pin_memory();
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_TRUE(pinned.pin_memory().is_same(pinned));
  EXPECT_EQ(pinned.device(), Device());
  EXPECT_EQ(pinned.strides(), x.strides());
  EXPECT_TRUE(equal(pinned, x));
  EXPECT_TRUE(pinned.narrow(0, 1, 1).is_pinned());
  EXPECT_FALSE((pinned + 1).is_pinned());
  EXPECT_EQ(pinned.data_ptr<float>()[1], 1);
  if (device().is_cpu()) {
    EXPECT_TRUE(has(error_of([&] { (void)x.pin_memory(device()); }), "name that one"));
    return;
  }
  const uint64_t before = pinned_memory_stats(device()).allocated;
  const uint64_t on_device = memory_allocated(device());
  {
    const Tensor own = x.pin_memory(device());
    EXPECT_GT(pinned_memory_stats(device()).allocated, before);
    EXPECT_EQ(memory_allocated(device()), on_device);
  }
  EXPECT_EQ(pinned_memory_stats(device()).allocated, before);
  EXPECT_TRUE(has(error_of([&] { (void)x.to(device()).pin_memory(); }), "cpu() first"));
  TensorOptions options{device()};
  EXPECT_TRUE(has(error_of([&] { (void)empty({1}, options.pinned_memory()); }), GetParam()));
  // A copy to the host that need not block goes to pinned memory.
  EXPECT_TRUE(x.to(device()).to(Device(), {.non_blocking = true}).is_pinned());
  EXPECT_FALSE(x.to(device()).cpu().is_pinned());
}

TEST_P(Cases, TO02_PinnedMemoryIsReusedAndGivenBack) {
  if (device().is_cpu()) GTEST_SKIP() << "the CPU has no pinned memory of its own";
  empty_cache(device());
  const uint64_t from_driver = pinned_memory_stats(device()).driver_allocations;
  const Tensor source = ones({1 << 18}, TensorOptions(Device()));
  for (int i = 0; i < 100; ++i) {
    const Tensor pinned = source.pin_memory(device());
    const Tensor there = pinned.to(device(), {.non_blocking = true});
    if (i % 10 == 9) {
      EXPECT_EQ(sum(there).item<float>(), 1 << 18);
    }
  }
  // Some are in use by copies when the next is wanted, but not a hundred.
  EXPECT_LE(pinned_memory_stats(device()).driver_allocations, from_driver + 8);
  empty_cache(device());
  EXPECT_EQ(pinned_memory_stats(device()).allocated, 0u);
  EXPECT_EQ(pinned_memory_stats(device()).reserved, 0u);
}

TEST(Alone, TO02_WithoutPinnedMemoryTheReasonIsGiven) {
  const std::string text =
      error_of<UnsupportedError>([] { (void)ones({2}, "cpu").pin_memory("sim:1"); });
  EXPECT_TRUE(has(text, "[pin_memory] sim:1 has no pinned host memory")) << text;
  EXPECT_TRUE(has(error_of<UnsupportedError>([] { (void)ones({2}, "cpu").pin_memory(); }),
                  "no device here has pinned host memory"));
  // What does not insist goes without.
  const Tensor there = ones({1 << 18}, "sim:0");
  EXPECT_EQ(sum(there.to("cpu", {.non_blocking = true})).item<float>(), 1 << 18);
  EXPECT_FALSE(there.to("cpu", {.non_blocking = true}).is_pinned());
}

TEST(Alone, TO02_PinnedMemoryRunsOutByItself) {
  std::vector<Tensor> held;
  const Tensor source = ones({1 << 18}, "cpu");
  try {
    for (int i = 0; i < 1000; ++i) held.push_back(source.pin_memory("sim:0"));
    ADD_FAILURE() << "a thousand MiB in eight";
  } catch (const OutOfMemoryError& e) {
    EXPECT_TRUE(has(e.what(), "pinned host memory")) << e.what();
    EXPECT_EQ(e.requested, 1u << 20);
  }
  EXPECT_GE(held.size(), 6u);
  // Device memory is another matter, and so is what does not insist.
  const Tensor there = source.to("sim:0");
  EXPECT_EQ(sum(there.to("cpu", {.non_blocking = true})).item<float>(), 1 << 18);
  held.clear();
  EXPECT_TRUE(source.pin_memory("sim:0").is_pinned());
}

}  // namespace
}  // namespace ferry::test
