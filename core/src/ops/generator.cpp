// SPDX-License-Identifier: Apache-2.0
//
// Philox4x32-10 and the generators that count its blocks.
#include <mutex>

#include "ferry/random.h"

namespace ferry {

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) noexcept {
  // Multipliers and Weyl steps of the paper.
  constexpr uint64_t kM0 = 0xd2511f53, kM1 = 0xcd9e8d57;
  constexpr uint32_t kW0 = 0x9e3779b9, kW1 = 0xbb67ae85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kM0 * c[0], p1 = kM1 * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k = {k[0] + kW0, k[1] + kW1};
  }
  return c;
}

struct Generator::Shared {
  mutable std::mutex mutex;
  State state;
};

Generator::Generator(uint64_t seed) : shared_(std::make_shared<Shared>()) {
  shared_->state.seed = seed;
}

Generator& Generator::manual_seed(uint64_t seed) {
  set_state({seed, 0});
  return *this;
}

Generator::State Generator::get_state() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->state;
}

void Generator::set_state(const State& state) {
  const std::lock_guard lock(shared_->mutex);
  shared_->state = state;
}

Generator::State Generator::advance(uint64_t count) {
  const std::lock_guard lock(shared_->mutex);
  const State before = shared_->state;
  shared_->state.position += count / 2 + count % 2;
  return before;
}

Generator& default_generator() {
  static auto* const object = new Generator();  // outlives what draws at exit
  return *object;
}

Generator& manual_seed(uint64_t seed) { return default_generator().manual_seed(seed); }

}  // namespace ferry
