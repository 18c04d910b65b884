// SPDX-License-Identifier: Apache-2.0
//
// ThreadCache: finding the thread's own, and its end with the thread.
#include "runtime/thread_cache.h"

#include <algorithm>
#include <mutex>
#include <thread>

#include "runtime/device_state.h"

namespace ferry::runtime {
namespace {

constexpr size_t kPlaces = 64;
// Plain data, which stays readable while the thread's other objects go.
thread_local std::array<ThreadCache*, kPlaces> caches{};
thread_local bool ending = false;

/// Destroys the thread's caches at its end.
struct Ender {
  ~Ender() {
    ending = true;
    for (ThreadCache*& cache : caches) {
      delete cache;
      cache = nullptr;
    }
  }
};

}  // namespace

class ThreadCache::Lock {
 public:
  explicit Lock(std::atomic_flag& flag) noexcept : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~Lock() { flag_.clear(std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic_flag& flag_;
};

ThreadCache* ThreadCache::of(CachingAllocator& owner) noexcept {
  const size_t place = owner.ordinal();
  if (place >= kPlaces) return nullptr;
  if (caches[place] != nullptr) return caches[place];
  if (ending) return nullptr;
  thread_local Ender ender;
  try {
    caches[place] = new ThreadCache(owner);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return caches[place];
}

ThreadCache::ThreadCache(CachingAllocator& owner)
    : owner_(owner), bins_(kMost / owner.granularity() + 1) {
  const std::lock_guard lock(owner_.caches_mutex_);
  owner_.caches_.push_back(this);
}

ThreadCache::~ThreadCache() {
  {
    const std::lock_guard lock(owner_.caches_mutex_);
    std::erase(owner_.caches_, this);
    owner_.gone_allocations_ += allocations();
  }
  flush();
}

Block* ThreadCache::take(uint64_t rounded) noexcept {
  const Lock lock(busy_);
  auto& bin = bins_[rounded / owner_.granularity()];
  if (bin.empty()) return nullptr;
  Block* block = bin.back();
  bin.pop_back();
  held_ -= rounded;
  taken_.store(taken_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return block;
}

bool ThreadCache::put(Block* block) noexcept {
  const Lock lock(busy_);
  if (held_ + block->bytes > kMostHeld) return false;
  try {
    bins_[block->bytes / owner_.granularity()].push_back(block);
  } catch (const std::bad_alloc&) {
    return false;
  }
  held_ += block->bytes;
  return true;
}

void ThreadCache::flush() noexcept {
  std::vector<std::vector<Block*>> all;
  {
    const Lock lock(busy_);
    std::swap(all, bins_);
    held_ = 0;
    try {
      bins_.resize(all.size());
    } catch (const std::bad_alloc&) {
      std::swap(all, bins_);  // keep what there is
      return;
    }
  }
  for (const auto& bin : all) {
    for (Block* block : bin) owner_.give_back(block, {});
  }
}

}  // namespace ferry::runtime
