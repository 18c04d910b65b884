// SPDX-License-Identifier: Apache-2.0
//
// MemoryMap: what is alive, what was, and who asked for it.
#include "runtime/layers/memory_map.h"

#include <fmt/format.h>

#include "runtime/log.h"

namespace ferry::runtime::layers {
namespace {

/// Of so many freed pieces it is remembered who had them.
constexpr size_t kMostFreed = 4096;

bool covers(uint64_t begin, uint64_t bytes, uint64_t offset, uint64_t length) {
  return offset >= begin && offset - begin <= bytes && length <= bytes - (offset - begin);
}

}  // namespace

double MemoryMap::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

MemoryMap::Piece MemoryMap::make(uint64_t bytes) {
  return {bytes, ++count_, seconds(), Origin::here()};
}

std::string MemoryMap::text_of(const Piece& piece) {
  const std::string op = piece.origin.op();
  return fmt::format("block {} of {} bytes, allocated {:.3f} s after the start by {} ({})",
                     piece.number, piece.bytes, piece.seconds, op.empty() ? "a direct call" : op,
                     piece.origin.frames());
}

std::string MemoryMap::add(const DeviceInfo& device, hal::Space space, uint64_t handle,
                           uint64_t bytes) {
  constexpr uint32_t kHost = FERRY_CAP_HANDLE_IS_ADDRESS | FERRY_CAP_HOST_ACCESSIBLE;
  const std::lock_guard lock(mutex_);
  DeviceMemory& memory = devices_[device.name];
  if (handle == 0) return "the plugin returned the handle 0, which means no memory";
  if (const auto found = memory.alive.find(handle); found != memory.alive.end()) {
    return fmt::format("the plugin returned the handle {:#x}, which is alive: {}", handle,
                       text_of(found->second.piece));
  }
  Memory& added = memory.alive[handle];
  added.piece = make(bytes);
  added.space = space;
  added.host_reachable = space == hal::Space::kPinned || (device.info.caps & kHost) == kHost;
  added.is_address =
      space == hal::Space::kPinned || (device.info.caps & FERRY_CAP_HANDLE_IS_ADDRESS) != 0;
  memory.freed.erase(handle);
  const uint64_t alignment = device.info.alignment;
  if (added.is_address && alignment > 1 && handle % alignment != 0) {
    return fmt::format(
        "the plugin returned the address {:#x}, which is no multiple of its "
        "alignment {}",
        handle, alignment);
  }
  return {};
}

std::string MemoryMap::remove(const DeviceInfo& device, uint64_t handle) {
  const std::lock_guard lock(mutex_);
  DeviceMemory& memory = devices_[device.name];
  const auto found = memory.alive.find(handle);
  if (found == memory.alive.end()) {
    const auto freed = memory.freed.find(handle);
    if (freed == memory.freed.end())
      return fmt::format("{:#x} is no memory of this device", handle);
    return fmt::format("{:#x} was released {:.3f} s after the start already: {}", handle,
                       freed->second.seconds, text_of(freed->second.piece));
  }
  if (!found->second.blocks.empty()) {
    return fmt::format("{:#x} still holds {}", handle,
                       text_of(found->second.blocks.begin()->second));
  }
  memory.freed[handle] = {found->second.piece, seconds()};
  memory.freed_order.push_back(handle);
  memory.alive.erase(found);
  if (memory.freed_order.size() > kMostFreed) {
    memory.freed.erase(memory.freed_order.front());
    memory.freed_order.pop_front();
  }
  return {};
}

void MemoryMap::on_block(const BlockEvent& event) {
  std::string wrong;
  {
    const std::lock_guard lock(mutex_);
    const auto device = devices_.find(event.device);
    if (device == devices_.end()) return;
    const auto memory = device->second.alive.find(event.segment);
    if (memory == device->second.alive.end()) return;
    auto& blocks = memory->second.blocks;
    auto& freed = memory->second.freed;
    if (event.kind == BlockEvent::Kind::kAllocate) {
      memory->second.cut = true;
      auto next = blocks.lower_bound(event.offset);
      if (next != blocks.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second.bytes > event.offset) next = before;
      }
      if (next != blocks.end() && next->first < event.offset + event.bytes) {
        wrong = "a block was handed out twice: " + text_of(next->second);
      }
      blocks[event.offset] = make(event.bytes);
      freed.erase(freed.lower_bound(event.offset), freed.lower_bound(event.offset + event.bytes));
    } else if (event.kind == BlockEvent::Kind::kFree) {
      const auto found = blocks.find(event.offset);
      if (found == blocks.end()) {
        wrong = fmt::format("the block at {:#x} + {} was freed and is not alive", event.segment,
                            event.offset);
      } else {
        if (freed.size() >= kMostFreed) freed.clear();
        freed[event.offset] = found->second;
        blocks.erase(found);
      }
    }
  }
  // The allocator cannot throw here; this is its own mistake.
  if (!wrong.empty()) log(LogLevel::kError, "validate", std::string(event.device) + ": " + wrong);
}

std::string MemoryMap::check_blocks(const Memory& memory, uint64_t offset, uint64_t bytes) const {
  if (!memory.cut) return {};
  auto block = memory.blocks.upper_bound(offset);
  if (block != memory.blocks.begin()) {
    --block;
    if (covers(block->first, block->second.bytes, offset, bytes)) return {};
    if (offset < block->first + block->second.bytes) {
      return fmt::format("the bytes {} to {} reach {} bytes beyond the end of {}", offset,
                         offset + bytes, offset + bytes - block->first - block->second.bytes,
                         text_of(block->second));
    }
  }
  auto freed = memory.freed.upper_bound(offset);
  if (freed != memory.freed.begin()) {
    --freed;
    if (covers(freed->first, freed->second.bytes, offset, 1)) {
      return fmt::format("the bytes {} to {} are of memory that was freed: {}", offset,
                         offset + bytes, text_of(freed->second));
    }
  }
  return fmt::format(
      "the bytes {} to {} lie in no live block of the {} that the caching "
      "allocator cut",
      offset, offset + bytes, in_units(memory.piece.bytes));
}

std::string MemoryMap::check_range(const DeviceInfo& device, ferry_location at, uint64_t bytes) {
  constexpr uint32_t kHost = FERRY_CAP_HANDLE_IS_ADDRESS | FERRY_CAP_HOST_ACCESSIBLE;
  const uint64_t handle = at.memory.handle;
  if (handle == 0) return "it is no memory (handle 0)";
  const std::lock_guard lock(mutex_);
  const DeviceMemory& memory = devices_[device.name];
  const auto found = memory.alive.find(handle);
  if (found == memory.alive.end()) {
    // The caller's own memory has any address as its handle.
    if ((device.info.caps & kHost) == kHost) return {};
    const auto freed = memory.freed.find(handle);
    if (freed == memory.freed.end()) {
      for (const auto& [name, other] : devices_) {
        if (other.alive.count(handle) == 0) continue;
        return fmt::format("{:#x} is memory of {}, not of this device", handle, name);
      }
      return fmt::format("{:#x} is no memory of this device", handle);
    }
    return fmt::format("it is used after it was released, {:.3f} s after the start: {}",
                       freed->second.seconds, text_of(freed->second.piece));
  }
  const Memory& live = found->second;
  if (!covers(0, live.piece.bytes, at.offset, bytes)) {
    return fmt::format("the bytes {} to {} are outside of {}", at.offset, at.offset + bytes,
                       text_of(live.piece));
  }
  return check_blocks(live, at.offset, bytes);
}

std::string MemoryMap::check_host_range(const void* at, uint64_t bytes) {
  if (at == nullptr) return "it is null";
  const auto begin = reinterpret_cast<uint64_t>(at);
  if (begin + bytes < begin) return "it reaches beyond the end of the address space";
  const std::lock_guard lock(mutex_);
  for (const auto& [name, memory] : devices_) {
    auto found = memory.alive.upper_bound(begin);
    if (found == memory.alive.begin()) continue;
    --found;
    const Memory& live = found->second;
    if (!live.is_address || begin - found->first >= live.piece.bytes) continue;
    if (!live.host_reachable) {
      return fmt::format("{:#x} is memory of {} that the host cannot reach: {}", begin, name,
                         text_of(live.piece));
    }
    if (!covers(0, live.piece.bytes, begin - found->first, bytes)) {
      return fmt::format("the bytes {} to {} are outside of {}", begin - found->first,
                         begin - found->first + bytes, text_of(live.piece));
    }
  }
  return {};
}

}  // namespace ferry::runtime::layers
