// SPDX-License-Identifier: Apache-2.0
//
// Batches: sizes, order, random numbers, workers, errors and devices.
#include "ferry/data/loader.h"

#include <atomic>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "ferry/error.h"
#include "ferry/ops.h"

namespace ferry::data {
namespace {

/// Example i is (a random number, i).
class Noisy : public Dataset {
 public:
  explicit Noisy(int64_t size, int64_t broken = -1) : size_(size), broken_(broken) {}
  int64_t size() const override { return size_; }
  Example get(int64_t index, Generator g) const override {
    if (index == broken_) throw FileError("noisy", "record 7 is damaged");
    ++calls;
    return {rand({1}, Device(), g), tensor<int64_t>({index})};
  }
  mutable std::atomic<int> calls{0};

 private:
  int64_t size_, broken_;
};

struct Seen {
  std::vector<float> noise;
  std::vector<int64_t> order, sizes;
  bool operator==(const Seen&) const = default;
};

Seen run(DataLoader& loader) {
  Seen seen;
  for (const Example& batch : loader) {
    seen.sizes.push_back(batch.data.size(0));
    for (float v : batch.data.to_vector<float>()) seen.noise.push_back(v);
    for (int64_t v : batch.target.to_vector<int64_t>()) seen.order.push_back(v);
  }
  return seen;
}

// RN-01: the same numbers with any number of workers, others in each epoch.
TEST(Loader, Rn01RandomNumbersDependOnSeedEpochAndIndexAlone) {
  const auto set = std::make_shared<Noisy>(10);
  std::vector<Seen> first, second;
  for (const int workers : {0, 1, 4}) {
    DataLoader loader(set, {.batch_size = 4, .num_workers = workers, .seed = 5});
    EXPECT_EQ(loader.size(), 3);
    first.push_back(run(loader));
    second.push_back(run(loader));
  }
  EXPECT_EQ(first[0].sizes, (std::vector<int64_t>{4, 4, 2}));
  std::vector<int64_t> expected(10);
  std::iota(expected.begin(), expected.end(), int64_t{0});
  EXPECT_EQ(first[0].order, expected);
  EXPECT_EQ(first[0], first[1]);
  EXPECT_EQ(first[0], first[2]);
  EXPECT_EQ(second[0], second[1]);
  EXPECT_EQ(second[0], second[2]);
  EXPECT_NE(first[0].noise, second[0].noise);
  EXPECT_EQ(std::set<float>(first[0].noise.begin(), first[0].noise.end()).size(), 10u);
  DataLoader few(std::make_shared<Noisy>(3), {.batch_size = 4, .drop_last = true});
  EXPECT_EQ(few.size(), 0);
  EXPECT_TRUE(run(few).sizes.empty());
}

TEST(Loader, ShufflesAnotherWayEachEpochAndResumes) {
  const auto set = std::make_shared<Noisy>(50);
  DataLoader plain(set, {.batch_size = 7, .shuffle = true});
  DataLoader busy(set, {.batch_size = 7, .shuffle = true, .num_workers = 3});
  const Seen a = run(plain), b = run(plain);
  EXPECT_NE(a.order, b.order);
  EXPECT_EQ(std::set<int64_t>(a.order.begin(), a.order.end()).size(), 50u);
  EXPECT_EQ(a, run(busy));
  busy.set_epoch(0);
  EXPECT_EQ(a, run(busy));
}

TEST(Loader, FollowsASampler) {
  DataLoader loader(std::make_shared<Noisy>(9),
                    {.batch_size = 2, .sampler = [](uint64_t epoch) {
                       return std::vector<int64_t>{8, 8, static_cast<int64_t>(epoch)};
                     }});
  EXPECT_EQ(run(loader).order, (std::vector<int64_t>{8, 8, 0}));
  EXPECT_EQ(run(loader).order, (std::vector<int64_t>{8, 8, 1}));
  loader.set_epoch(9);
  EXPECT_THROW(loader.begin(), InvalidArgument);
}

TEST(Loader, AnErrorComesInItsTurn) {
  for (const int workers : {0, 2}) {
    DataLoader loader(std::make_shared<Noisy>(12, 7), {.batch_size = 3, .num_workers = workers});
    int batches = 0;
    try {
      for (const Example& batch : loader) batches += batch.data.size(0) == 3;
      FAIL() << "nothing was thrown";
    } catch (const FileError& e) {
      EXPECT_NE(std::string(e.what()).find("record 7"), std::string::npos);
    }
    EXPECT_EQ(batches, 2);
  }
}

TEST(Loader, LeavingEarlyEndsTheWork) {
  const auto set = std::make_shared<Noisy>(1000);
  {
    DataLoader loader(set, {.batch_size = 1, .num_workers = 2, .prefetch_factor = 2});
    for (const Example& batch : loader) {
      EXPECT_TRUE(batch.data.defined());
      break;
    }
  }
  EXPECT_LT(set->calls, 10);
  EXPECT_EQ(set.use_count(), 1);
}

TEST(Loader, MovesBatchesToADevice) {
  const auto set = std::make_shared<Noisy>(10);
  DataLoader host(set, {.batch_size = 4});
  const Seen expected = run(host);
  for (const char* name : {"cpu", "sim:0", "sim:1"}) {
    for (const int workers : {0, 2}) {
      DataLoader loader(set, {.batch_size = 4, .num_workers = workers, .device = Device(name)});
      for (const Example& batch : loader) EXPECT_EQ(batch.data.device(), Device(name));
      loader.set_epoch(0);
      EXPECT_EQ(run(loader), expected) << name;
    }
  }
  DataLoader pinned(set, {.batch_size = 4, .pin_memory = true, .device = Device("sim:0")});
  EXPECT_EQ(run(pinned), expected);
}

TEST(Loader, RefusesWhatCannotBe) {
  const auto set = std::make_shared<Noisy>(4);
  EXPECT_THROW(DataLoader(nullptr), InvalidArgument);
  EXPECT_THROW(DataLoader(set, {.batch_size = 0}), InvalidArgument);
  EXPECT_THROW(DataLoader(set, {.num_workers = -1}), InvalidArgument);
  EXPECT_THROW(DataLoader(set, {.num_workers = 1, .prefetch_factor = 0}), InvalidArgument);
  EXPECT_THROW(DataLoader(set, {.collate = nullptr}), InvalidArgument);
  EXPECT_THROW(DataLoader(set, {.shuffle = true,
                                .sampler = [](uint64_t) { return std::vector<int64_t>{}; }}),
               InvalidArgument);
}

TEST(Loader, StacksAndNamesWhatDoesNotFit) {
  const Example row{tensor<float>({1, 2}), {}}, other{tensor<float>({1, 2, 3}), {}};
  const Example both = stack_examples({row, row});
  EXPECT_EQ(both.data.shape(), (Shape{2, 2}));
  EXPECT_FALSE(both.target.defined());
  EXPECT_THROW(stack_examples({}), InvalidArgument);
  EXPECT_THROW(stack_examples({row, {row.data, row.data}}), InvalidArgument);
  try {
    stack_examples({row, row, other});
    FAIL() << "nothing was thrown";
  } catch (const InvalidArgument& e) {
    EXPECT_NE(std::string(e.what()).find("input 2"), std::string::npos) << e.what();
  }
}

TEST(Loader, RowsOfTensors) {
  const Tensor x = arange(0, 6).view({3, 2}), y = arange(0, 3);
  TensorDataset set(x, y, [](const Tensor& t, Generator) { return t * 2; });
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.get(1, Generator()).data.to_vector<int64_t>(), (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(set.get(2, Generator()).target.item<int64_t>(), 2);
  EXPECT_THROW(TensorDataset(x, arange(0, 2)), InvalidArgument);
  EXPECT_THROW(TensorDataset{Tensor()}, InvalidArgument);
}

}  // namespace
}  // namespace ferry::data
