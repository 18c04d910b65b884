// SPDX-License-Identifier: Apache-2.0
//
// Player: does random things with tensors, and knows what must come out.
#ifndef FERRY_TESTS_STRESS_PLAYER_H
#define FERRY_TESTS_STRESS_PLAYER_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "ferry/stream.h"
#include "ferry/tensor.h"

namespace ferry::stress {

/// SplitMix64: the same seed gives the same play of a thread.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }
  /// 0 .. most - 1.
  int64_t below(int64_t most) { return static_cast<int64_t>(next() % static_cast<uint64_t>(most)); }
  bool chance(int one_in) { return below(one_in) == 0; }

 private:
  uint64_t state_;
};

/// A tensor, one-dimensional or turned, and its elements in row-major order.
/// Small whole numbers, so that every dtype holds them exactly.
struct Toy {
  Tensor tensor;
  std::vector<int32_t> values;
  /// How many faults had been reported when its elements were last known.
  int64_t known_at = 0;
};

/// What the players of one test share.
struct Playground {
  std::vector<Device> devices;
  std::vector<Stream> streams;
  int64_t largest = 8000;  ///< elements of most tensors; a few have 64 times as many
  bool faults = false;     ///< devices fail now and then

  std::atomic<int64_t> operations{0}, checks{0}, out_of_memory{0}, reported{0}, spoilt{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::deque<Toy> passed_on;  ///< from one thread to another
  std::string wrong;          ///< the first wrong result

  void complain(const std::string& text);
  /// Collects faults that no wait has brought up yet.
  void collect_faults();
};

class Player {
 public:
  Player(Playground& ground, uint64_t seed) : ground_(ground), random_(seed) {}
  /// Plays so many operations, or until another player saw a wrong result.
  void play(int64_t operations);
  void check_all();

 private:
  void step();
  void create();
  void move(Toy& toy);
  void compute(Toy& toy);
  void write(Toy& toy);
  void combine(Toy& toy);
  void cut(Toy& toy);
  void turn(Toy& toy);
  void pass_on();
  void check(Toy& toy);
  void tidy();
  void drop_some();

  const Device& any_device();
  Toy& any_toy() { return toys_[static_cast<size_t>(random_.below(count()))]; }
  int64_t count() const { return static_cast<int64_t>(toys_.size()); }
  void forget(const Toy& toy);

  Playground& ground_;
  Random random_;
  std::vector<Toy> toys_;
};

}  // namespace ferry::stress

#endif  // FERRY_TESTS_STRESS_PLAYER_H
