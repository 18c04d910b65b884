// SPDX-License-Identifier: Apache-2.0
//
// Epochs of a DataLoader: workers fill a ring of batches, which the caller
// empties in order.
#include "ferry/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "ferry/error.h"
#include "ferry/stream.h"

namespace ferry::data {
namespace {

constexpr const char* kWhere = "DataLoader";

/// A seed for one example of one epoch; `number` -1 is the order.
uint64_t seed_of(uint64_t seed, uint64_t epoch, int64_t number) {
  const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
  const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
  const auto n = static_cast<uint64_t>(number);
  const auto words =
      philox4x32({low(n), high(n), low(epoch), high(epoch)}, {low(seed), high(seed)});
  return words[0] | uint64_t{words[1]} << 32;
}

std::vector<int64_t> order_of(const Dataset& dataset, const LoaderOptions& o, uint64_t epoch) {
  const int64_t size = dataset.size();
  if (o.sampler) {
    std::vector<int64_t> order = o.sampler(epoch);
    for (int64_t i : order)
      if (i < 0 || i >= size)
        throw InvalidArgument(kWhere, fmt::format("the sampler names example {}; the dataset "
                                                  "has {}, numbered from 0",
                                                  i, size));
    return order;
  }
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!o.shuffle || size < 2) return order;
  return randperm(size, {}, Generator(seed_of(o.seed, epoch, -1))).to_vector<int64_t>();
}

int64_t batches_of(int64_t examples, const LoaderOptions& o) {
  const int64_t whole = examples / o.batch_size;
  return whole + (!o.drop_last && examples % o.batch_size != 0 ? 1 : 0);
}

/// oneTBB warns on the terminal where an arena wants more threads than the
/// process has, so none does.
int threads_for(int workers) {
  const size_t allowed =
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return std::clamp(workers, 1, static_cast<int>(std::max<size_t>(allowed, 2) - 1));
}

}  // namespace

class DataLoader::Epoch {
 public:
  Epoch(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options, uint64_t number)
      : dataset_(std::move(dataset)),
        options_(options),
        number_(number),
        order_(order_of(*dataset_, options_, number)),
        batches_(batches_of(static_cast<int64_t>(order_.size()), options_)) {
    if (options_.device) stream_.emplace(*options_.device);
    if (options_.num_workers == 0) return;
    arena_.emplace(threads_for(options_.num_workers), 0U);
    ring_.resize(static_cast<size_t>(options_.num_workers) *
                 static_cast<size_t>(options_.prefetch_factor));
    const std::lock_guard lock(mutex_);
    refill();
  }
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;
  ~Epoch() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    changed_.wait(lock, [&] { return running_ == 0; });
  }

  /// The next batch; false at the end.
  bool next(Example& out) {
    if (taken_ == batches_) return false;
    if (!arena_) {
      out = make(taken_);
      ++taken_;
      return true;
    }
    std::unique_lock lock(mutex_);
    Slot& slot = slot_of(taken_);
    changed_.wait(lock, [&] { return slot.ready; });
    Slot done = std::exchange(slot, {});
    ++taken_;
    if (done.error) std::rethrow_exception(done.error);
    refill();
    out = std::move(done.batch);
    return true;
  }

 private:
  struct Slot {
    Example batch;
    std::exception_ptr error;
    bool ready = false;
  };

  Slot& slot_of(int64_t batch) { return ring_[static_cast<size_t>(batch) % ring_.size()]; }

  /// Starts batches as long as there is room. Under the lock.
  void refill() {
    while (started_ < batches_ && started_ - taken_ < static_cast<int64_t>(ring_.size())) {
      ++running_;
      try {
        arena_->enqueue([this, batch = started_] { work(batch); });
      } catch (...) {
        --running_;
        throw;
      }
      ++started_;
    }
  }

  void work(int64_t batch) noexcept {
    Slot done;
    bool wanted = false;
    {
      const std::lock_guard lock(mutex_);
      wanted = !stopped_;
    }
    try {
      if (wanted) done.batch = make(batch);
    } catch (...) {
      done.error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done.ready = true;
    slot_of(batch) = std::move(done);
    --running_;
    // Under the lock: the epoch may be gone as soon as it is free.
    changed_.notify_all();
  }

  Example make(int64_t batch) const {
    const int64_t begin = batch * options_.batch_size;
    const int64_t end = std::min(begin + options_.batch_size, static_cast<int64_t>(order_.size()));
    std::vector<Example> examples;
    examples.reserve(static_cast<size_t>(end - begin));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t index = order_[static_cast<size_t>(i)];
      examples.push_back(dataset_->get(index, Generator(seed_of(options_.seed, number_, index))));
    }
    Example out = options_.collate(examples);
    if (options_.pin_memory) {
      if (out.data.defined()) out.data = out.data.pin_memory(options_.device);
      if (out.target.defined()) out.target = out.target.pin_memory(options_.device);
    }
    if (!stream_) return out;
    const StreamGuard guard(*stream_);
    if (out.data.defined()) out.data = out.data.to(*options_.device, {.non_blocking = true});
    if (out.target.defined()) out.target = out.target.to(*options_.device, {.non_blocking = true});
    return out;
  }

  const std::shared_ptr<const Dataset> dataset_;
  const LoaderOptions options_;
  const uint64_t number_;
  const std::vector<int64_t> order_;
  const int64_t batches_;
  std::optional<Stream> stream_;
  std::optional<tbb::task_arena> arena_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> ring_;
  int64_t started_ = 0, taken_ = 0, running_ = 0;
  bool stopped_ = false;
};

DataLoader::Iterator::Iterator(std::shared_ptr<Epoch> epoch) : epoch_(std::move(epoch)) { ++*this; }

DataLoader::Iterator& DataLoader::Iterator::operator++() {
  // What is thrown ends the epoch.
  const std::shared_ptr<Epoch> epoch = std::exchange(epoch_, nullptr);
  batch_ = {};
  if (epoch && epoch->next(batch_)) epoch_ = epoch;
  return *this;
}

DataLoader::DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(std::move(options)) {
  if (!dataset_) throw InvalidArgument(kWhere, "there is no dataset");
  if (options_.batch_size < 1)
    throw InvalidArgument(
        kWhere, fmt::format("batch_size is {}; it must be at least 1", options_.batch_size));
  if (options_.num_workers < 0 || options_.num_workers > 1024)
    throw InvalidArgument(
        kWhere, fmt::format("num_workers is {}; it must be in [0, 1024]", options_.num_workers));
  if (options_.prefetch_factor < 1 || options_.prefetch_factor > 1024)
    throw InvalidArgument(kWhere, fmt::format("prefetch_factor is {}; it must be in [1, 1024]",
                                              options_.prefetch_factor));
  if (options_.shuffle && options_.sampler)
    throw InvalidArgument(kWhere, "shuffle and a sampler both give the order; choose one");
  if (!options_.collate) throw InvalidArgument(kWhere, "collate is empty; leave it as it is");
}

DataLoader::Iterator DataLoader::begin() {
  auto epoch = std::make_shared<Epoch>(dataset_, options_, epoch_);
  ++epoch_;
  return Iterator(std::move(epoch));
}

int64_t DataLoader::size() const noexcept { return batches_of(dataset_->size(), options_); }

}  // namespace ferry::data
