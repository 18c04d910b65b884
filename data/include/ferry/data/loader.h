// SPDX-License-Identifier: Apache-2.0
//
// DataLoader: batches of a dataset, made ahead by worker threads.
#ifndef FERRY_DATA_LOADER_H
#define FERRY_DATA_LOADER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "ferry/data/dataset.h"
#include "ferry/device.h"

namespace ferry::data {

/// The numbers of one epoch's examples, in order. Called on the thread that
/// begins the epoch.
using Sampler = std::function<std::vector<int64_t>(uint64_t epoch)>;
/// Makes a batch of at least one example. Called from several threads at a time.
using Collate = std::function<Example(const std::vector<Example>& examples)>;

/// Stacks inputs and targets along a new first dimension. InvalidArgument where
/// shapes or dtypes differ; the text names the place in the batch.
FERRY_API Example stack_examples(const std::vector<Example>& examples);

struct LoaderOptions {
  int64_t batch_size = 1;
  /// Another order each epoch. Not together with `sampler`.
  bool shuffle = false;
  Sampler sampler = {};
  /// Threads of oneTBB that make batches ahead, at most one less than oneTBB has
  /// (the processor's); 0: each batch is made by the thread that asks for it.
  int num_workers = 0;
  /// Batches that each worker may be ahead.
  int prefetch_factor = 2;
  /// Leave out a last batch that is smaller.
  bool drop_last = false;
  /// Batches in pinned memory, see Tensor::pin_memory().
  bool pin_memory = false;
  /// Batches are moved there on a stream of the loader's own; with workers that
  /// happens ahead, beside the caller's work.
  std::optional<Device> device = {};
  uint64_t seed = 0;
  Collate collate = stack_examples;
};

/// Iterates over a dataset in batches:
///
///   DataLoader loader(dataset, {.batch_size = 16, .shuffle = true});
///   for (const Example& batch : loader) train(batch.data, batch.target);
///
/// Each begin() is a new epoch, counted from 0. Order and random numbers follow
/// from seed, epoch and the example's number alone: any number of workers gives
/// the same batches. What get() or collate throws is thrown in its turn, from
/// begin() or ++; the epoch ends there. Leaving a loop early ends its work.
/// One thread at a time may use a loader; epochs may exist side by side.
class FERRY_API DataLoader {
 public:
  class Epoch;

  class FERRY_API Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Example;
    using difference_type = std::ptrdiff_t;
    using pointer = const Example*;
    using reference = const Example&;

    Iterator() = default;
    explicit Iterator(std::shared_ptr<Epoch> epoch);
    const Example& operator*() const noexcept { return batch_; }
    const Example* operator->() const noexcept { return &batch_; }
    Iterator& operator++();
    void operator++(int) { ++*this; }
    /// Equal where both are at their end, or of one epoch.
    bool operator==(const Iterator& other) const noexcept { return epoch_ == other.epoch_; }

   private:
    std::shared_ptr<Epoch> epoch_;
    Example batch_;
  };

  /// InvalidArgument for sizes below 1, negative workers, shuffle with a
  /// sampler, or no dataset.
  explicit DataLoader(std::shared_ptr<const Dataset> dataset, LoaderOptions options = {});

  /// Begins the next epoch. InvalidArgument where the sampler names an example
  /// that is not there.
  Iterator begin();
  Iterator end() const noexcept { return {}; }
  /// The number of batches of an epoch, without a sampler of one's own.
  int64_t size() const noexcept;
  /// Of the next begin(): set it to resume.
  uint64_t epoch() const noexcept { return epoch_; }
  void set_epoch(uint64_t epoch) noexcept { epoch_ = epoch; }

 private:
  std::shared_ptr<const Dataset> dataset_;
  LoaderOptions options_;
  uint64_t epoch_ = 0;
};

}  // namespace ferry::data

#endif  // FERRY_DATA_LOADER_H
