// SPDX-License-Identifier: Apache-2.0
//
// Counting, chance and pauses.
#include "faults.h"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace ferry::sim {
namespace {

constexpr uint64_t kMostJitterUs = 200;

/// SplitMix64 of the seed and a counter: the same seed gives the same faults in
/// the same order of calls.
uint64_t random_number() {
  static std::atomic<uint64_t> counter{0};
  uint64_t x = options().seed + 0x9e3779b97f4a7c15u * (counter.fetch_add(1) + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

bool is_due(Fault::Kind kind) {
  static std::array<std::atomic<uint64_t>, 5> counts{};
  if (options().faults.empty()) return false;
  const uint64_t number = counts[static_cast<size_t>(kind)].fetch_add(1) + 1;
  for (const Fault& fault : options().faults) {
    if (fault.kind != kind) continue;
    if (fault.nth == number) return true;
    if (fault.nth == 0 && static_cast<double>(random_number() >> 11) * 0x1p-53 < fault.chance) {
      return true;
    }
  }
  return false;
}

void pause_before_work() {
  uint64_t us = options().latency_us;
  if (options().mode == Mode::kJitter) us += random_number() % (kMostJitterUs + 1);
  if (us > 0) std::this_thread::sleep_for(std::chrono::microseconds(us));
}

void pause_for_copy(uint64_t bytes, double spent_us) {
  if (options().bandwidth == 0) return;
  const double us =
      static_cast<double>(bytes) * 1e6 / static_cast<double>(options().bandwidth) - spent_us;
  if (us > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
}

}  // namespace ferry::sim
