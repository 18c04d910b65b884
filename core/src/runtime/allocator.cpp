// SPDX-License-Identifier: Apache-2.0
//
// CachingAllocator: best fit, splitting and merging, and what is tried before
// an allocation fails.
#include "runtime/allocator.h"

#include <algorithm>
#include <string>

#include "ferry/error.h"
#include "runtime/device_state.h"
#include "runtime/host_services.h"
#include "runtime/memory_history.h"
#include "runtime/thread_cache.h"

namespace ferry::runtime {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kSmallSegment = 2 * kMiB;
constexpr uint64_t kLargeSegment = 16 * kMiB;
constexpr uint64_t kOwnSegment = 4 * kMiB;  // from this size on, a segment of its own
constexpr uint64_t kRounding = 2 * kMiB;    // of such a segment
/// How many blocks are looked at for one that needs no waiting.
constexpr int kLookahead = 16;
/// So many that fit and are still in use are enough: the host waits for one.
constexpr int kEnoughWaiting = 4;

size_t next_ordinal() {
  static std::atomic<size_t> count{0};
  return count.fetch_add(1);
}

}  // namespace

CachingAllocator::CachingAllocator(DeviceState& device, hal::Space space)
    : device_(device), space_(space), ordinal_(next_ordinal()) {
  // Accelerators move memory in such units; the host's caches in lines of 64.
  constexpr uint32_t kHost = FERRY_CAP_HOST_ACCESSIBLE;
  const uint64_t least = (device.info().caps & kHost) != 0 ? 64 : 512;
  granularity_ = std::max(least, device.info().alignment);
}

CachingAllocator::~CachingAllocator() = default;

void CachingAllocator::count_allocated(uint64_t bytes) noexcept {
  const uint64_t now = allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

void CachingAllocator::reset_peak() noexcept {
  peak_.store(allocated(), std::memory_order_relaxed);
}

Block* CachingAllocator::allocate(uint64_t bytes, StreamState& stream) {
  if (bytes > uint64_t{1} << 62) throw_out_of_memory(bytes);
  const uint64_t rounded = round(bytes);
  if (rounded <= ThreadCache::kMost && &stream == &device_.default_stream()) {
    if (ThreadCache* cache = ThreadCache::of(*this)) {
      if (Block* block = cache->take(rounded)) {
        count_allocated(rounded);
        if (records_memory()) record(MemoryEvent::Kind::kAllocate, *block, 0);
        return block;
      }
    }
  }
  Block* block = allocate_central(rounded, stream);
  count_allocated(block->bytes);
  if (records_memory()) {
    const bool own = &stream.device() == &device_;
    record(MemoryEvent::Kind::kAllocate, *block, own ? static_cast<int>(stream.index()) : -1);
  }
  return block;
}

std::vector<Block*> CachingAllocator::allocate_run(std::span<const uint64_t> sizes,
                                                   StreamState& stream) {
  uint64_t total = 0;
  std::vector<std::unique_ptr<Block>> rest;
  for (const uint64_t bytes : sizes) {
    if (__builtin_add_overflow(total, round(bytes), &total)) throw_out_of_memory(bytes);
  }
  for (size_t i = 1; i < sizes.size(); ++i) rest.push_back(std::make_unique<Block>());
  std::vector<Block*> out(sizes.size());
  out[0] = allocate_central(total, stream);
  const std::lock_guard lock(mutex_);
  for (size_t i = 1; i < sizes.size(); ++i) {
    Block* const before = out[i - 1];
    Block* const block = out[i] = rest[i - 1].release();
    const uint64_t bytes = round(sizes[i - 1]);
    *block = {before->segment,
              before->offset + bytes,
              before->bytes - bytes,
              before,
              before->after,
              false,
              {}};
    if (before->after != nullptr) before->after->before = block;
    before->after = block;
    before->bytes = bytes;
  }
  const bool own = &stream.device() == &device_;
  for (const Block* block : out) {
    count_allocated(block->bytes);
    if (!records_memory()) continue;
    record(MemoryEvent::Kind::kAllocate, *block, own ? static_cast<int>(stream.index()) : -1);
  }
  return out;
}

void CachingAllocator::free(Block* block, std::vector<Use> uses) noexcept {
  allocated_.fetch_sub(block->bytes, std::memory_order_relaxed);
  if (records_memory()) record(MemoryEvent::Kind::kFree, *block, -1);
  // In a forked child the driver's memory is not ours to manage.
  if (!device_.usable()) return;
  if (uses.empty() && block->bytes <= ThreadCache::kMost && !device_.many_streams() &&
      space_ == hal::Space::kDevice) {
    ThreadCache* cache = ThreadCache::of(*this);
    if (cache != nullptr && cache->put(block)) return;
  }
  give_back(block, std::move(uses));
}

void CachingAllocator::give_back(Block* block, std::vector<Use> uses) noexcept {
  try {
    // Without a record the default stream used it, if any did. Copies alone use
    // pinned memory, and they are always recorded.
    if (uses.empty() && space_ == hal::Space::kDevice && !device_.synchronous()) {
      StreamState& stream = device_.default_stream();
      uses.push_back({&stream, stream.submitted()});
    }
    const bool used = !uses.empty();
    const std::lock_guard lock(mutex_);
    block->uses = std::move(uses);
    put_back(block);
    if (used) used_by_copies_.store(true);
  } catch (const std::bad_alloc&) {
    // No host memory for the list of free blocks: this one stays unused.
  }
}

void CachingAllocator::put_back(Block* block) {
  FreeSet& set = free_set(*block);
  const auto absorb = [&](Block* left, Block* right) {
    for (const Use& use : right->uses) add_use(left->uses, use);
    left->bytes += right->bytes;
    left->after = right->after;
    if (right->after != nullptr) right->after->before = left;
    delete right;
    return left;
  };
  if (block->before != nullptr && block->before->free) {
    set.erase(block->before);
    block = absorb(block->before, block);
  }
  if (block->after != nullptr && block->after->free) {
    set.erase(block->after);
    block = absorb(block, block->after);
  }
  block->free = true;
  set.insert(block);
}

Block* CachingAllocator::find_in(FreeSet& set, uint64_t bytes, StreamState& stream, bool patient) {
  Block key;
  key.bytes = bytes - 1;
  // Sizes are multiples of the granularity: none lies between.
  const auto first = set.upper_bound(&key);
  // The host can go on elsewhere instead of waiting; a stream waits by itself.
  const bool elsewhere = !patient && stream.hal() == nullptr;
  auto best = set.end();
  int seen = 0;
  for (auto it = first; it != set.end() && seen < kLookahead; ++it, ++seen) {
    // A large segment of its own is not taken for something much smaller.
    if ((*it)->bytes >= kLargeSegment && bytes < kOwnSegment && best != set.end()) break;
    if (best == set.end() && !elsewhere) best = it;
    const bool ready = std::all_of((*it)->uses.begin(), (*it)->uses.end(), [&](const Use& use) {
      return use.stream == &stream || use.done();
    });
    if (ready || (elsewhere && seen + 1 == kEnoughWaiting)) {
      best = it;
      break;
    }
  }
  if (best == set.end()) return nullptr;
  Block* block = *best;
  set.erase(best);
  block->free = false;
  return cut(block, bytes);
}

Block* CachingAllocator::find(uint64_t bytes, StreamState& stream, bool patient) {
  return find_in(bytes <= kSmallBlock ? free_small_ : free_large_, bytes, stream, patient);
}

Block* CachingAllocator::cut(Block* block, uint64_t bytes) {
  const uint64_t rest = block->bytes - bytes;
  const bool worth = block->segment->small ? rest >= granularity_ : rest > kSmallBlock;
  if (!worth) return block;
  auto* tail = new Block();
  tail->segment = block->segment;
  tail->offset = block->offset + bytes;
  tail->bytes = rest;
  tail->before = block;
  tail->after = block->after;
  tail->uses = block->uses;
  if (block->after != nullptr) block->after->before = tail;
  block->after = tail;
  block->bytes = bytes;
  tail->free = true;
  free_set(*block).insert(tail);
  return block;
}

Block* CachingAllocator::obtain(uint64_t segment_bytes, bool small) {
  const uint64_t most = limit();
  if (most != 0 && reserved() + segment_bytes > most) return nullptr;
  auto segment = std::make_unique<Segment>();
  auto block = std::make_unique<Block>();
  firsts_.reserve(firsts_.size() + 1);  // so that nothing fails once there is memory
  segment->bytes = segment_bytes;
  segment->small = small;
  const hal::Status status =
      device_.hal().allocator().allocate(space_, segment_bytes, &segment->memory);
  if (status.code() == FERRY_E_OOM) {
    (void)take_failure();
    return nullptr;
  }
  if (status.code() == FERRY_E_MISSING) missing_.store(true, std::memory_order_relaxed);
  device_.check(status, "alloc");
  block->segment = segment.get();
  block->bytes = segment_bytes;
  firsts_.push_back(block.get());
  ++driver_allocations_;
  reserved_.fetch_add(segment_bytes, std::memory_order_relaxed);
  peak_reserved_ = std::max(peak_reserved_, reserved());
  if (records_memory()) record(MemoryEvent::Kind::kSegmentObtained, *block, -1);
  (void)segment.release();
  return block.release();
}

Block* CachingAllocator::grow(uint64_t bytes, bool exact) {
  const bool small = bytes <= kSmallBlock;
  uint64_t wanted = bytes;
  if (!exact) {
    wanted = small                 ? kSmallSegment
             : bytes < kOwnSegment ? kLargeSegment
                                   : (bytes + kRounding - 1) / kRounding * kRounding;
  }
  Block* block = obtain(wanted, small);
  return block == nullptr ? nullptr : cut(block, bytes);
}

std::vector<Use> CachingAllocator::uses_of_cached() {
  std::vector<Use> uses;
  const std::lock_guard lock(mutex_);
  for (const FreeSet* set : {&free_small_, &free_large_}) {
    for (const Block* block : *set) {
      for (const Use& use : block->uses) add_use(uses, use);
    }
  }
  return uses;
}

void CachingAllocator::wait_for_cached_work() {
  // Without the lock: the work may free tensors when it is done.
  for (const Use& use : uses_of_cached()) use.wait();
}

void CachingAllocator::poll_cached_work() {
  if (!used_by_copies_.exchange(false)) return;
  bool pending = false;
  for (const Use& use : uses_of_cached()) {
    if (!use.done() && !use.stream->poll(use.ticket)) pending = true;
  }
  if (pending) used_by_copies_.store(true);
}

void CachingAllocator::release_free_segments() {
  for (FreeSet* set : {&free_small_, &free_large_}) {
    for (auto it = set->begin(); it != set->end();) {
      Block* block = *it;
      const bool whole = block->before == nullptr && block->after == nullptr;
      if (!whole || !std::all_of(block->uses.begin(), block->uses.end(),
                                 [](const Use& use) { return use.done(); })) {
        ++it;
        continue;
      }
      device_.check(device_.hal().allocator().release(block->segment->memory), "empty_cache");
      it = set->erase(it);
      reserved_.fetch_sub(block->segment->bytes, std::memory_order_relaxed);
      ++driver_frees_;
      if (records_memory()) record(MemoryEvent::Kind::kSegmentReleased, *block, -1);
      std::erase(firsts_, block);
      delete block->segment;
      delete block;
    }
  }
}

void CachingAllocator::flush_thread_caches() {
  const std::lock_guard lock(caches_mutex_);
  for (ThreadCache* cache : caches_) cache->flush();
}

Block* CachingAllocator::make_room(uint64_t bytes, StreamState& stream) {
  // What other threads keep, what work in flight holds, then whole segments.
  flush_thread_caches();
  wait_for_cached_work();
  const std::lock_guard lock(mutex_);
  ++retries_;
  Block* block = find(bytes, stream, true);
  if (block == nullptr) {
    release_free_segments();
    block = grow(bytes, false);
  }
  if (block == nullptr) block = grow(bytes, true);
  // The rest of a segment that live tensors hold, though meant for large blocks.
  if (block == nullptr) block = find_in(free_large_, bytes, stream, true);
  if (block == nullptr) ++ooms_;
  return block;
}

Block* CachingAllocator::allocate_central(uint64_t bytes, StreamState& stream) {
  if (stream.hal() == nullptr) poll_cached_work();
  Block* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    ++central_allocations_;
    block = find(bytes, stream, false);
    if (block == nullptr) block = grow(bytes, false);
    if (block == nullptr) block = grow(bytes, true);
  }
  if (block == nullptr) block = make_room(bytes, stream);
  if (block == nullptr) throw_out_of_memory(bytes);
  try {
    for (const Use& use : block->uses) stream.wait_for(use);
  } catch (...) {
    give_back(block, std::move(block->uses));
    throw;
  }
  block->uses.clear();
  return block;
}

void CachingAllocator::empty_cache() {
  flush_thread_caches();
  wait_for_cached_work();
  const std::lock_guard lock(mutex_);
  release_free_segments();
}

}  // namespace ferry::runtime
