// SPDX-License-Identifier: Apache-2.0
//
// RandomWords: the 64 bits of each element of a draw, in order.
#ifndef FERRY_OPS_RANDOM_WORDS_H
#define FERRY_OPS_RANDOM_WORDS_H

#include <array>
#include <cstdint>

#include "ferry/random.h"

namespace ferry::ops {

/// As Generator describes: element i has half a block of four words.
class RandomWords {
 public:
  explicit RandomWords(const Generator::State& state) noexcept : state_(state) {}

  uint64_t next() noexcept {
    if (half_ == 0) {
      words_ = philox4x32({low(state_.position), high(state_.position), 0, 0},
                          {low(state_.seed), high(state_.seed)});
      ++state_.position;
    }
    const size_t at = half_;
    half_ ^= 2;
    return words_[at] | uint64_t{words_[at + 1]} << 32;
  }

 private:
  static uint32_t low(uint64_t x) noexcept { return static_cast<uint32_t>(x); }
  static uint32_t high(uint64_t x) noexcept { return static_cast<uint32_t>(x >> 32); }

  Generator::State state_;
  std::array<uint32_t, 4> words_{};
  size_t half_ = 0;
};

}  // namespace ferry::ops

#endif  // FERRY_OPS_RANDOM_WORDS_H
