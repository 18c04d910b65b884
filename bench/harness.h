// SPDX-License-Identifier: Apache-2.0
//
// Times candidates in turns on the same machine in the same minute, and prints
// the medians beside each other.
#ifndef FERRY_BENCH_HARNESS_H
#define FERRY_BENCH_HARNESS_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ferry::bench {

/// One way to do the work. `run(n)` does it n times.
struct Candidate {
  std::string name;
  std::function<void(int64_t n)> run;
};

/// What one row is held against.
struct Goal {
  enum class Kind {
    kNone,
    kNanoseconds,  ///< the first candidate's time is at most `limit` ns
    kRatio,        ///< the first candidate takes at most `limit` times the best other's time
    kAbove,        ///< the first takes at most `limit` ns more than the best other
  };
  Kind kind = Kind::kNone;
  double limit = 0;
};
inline Goal at_most_ns(double ns) { return {Goal::Kind::kNanoseconds, ns}; }
inline Goal at_most_times(double ratio) { return {Goal::Kind::kRatio, ratio}; }
inline Goal at_most_ns_more(double ns) { return {Goal::Kind::kAbove, ns}; }

struct Settings {
  int rounds = 15;       ///< samples of each candidate, taken in turns
  double sample_ms = 3;  ///< a sample repeats the work for at least this long
  std::string only;      ///< rows whose title contains it
};
Settings& settings();

/// Times the candidates, ours first, and prints one line: the median of each
/// and how it stands to the goal. `bytes` moved by one run gives rates.
void compare(const std::string& title, std::vector<Candidate> candidates, Goal goal = {},
             double bytes = 0);

/// A headline above the rows of one group.
void group(const std::string& title);

/// Rows that missed their goal since the start.
int missed();

/// Keeps the compiler from leaving out the work behind `value`.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

}  // namespace ferry::bench

#endif  // FERRY_BENCH_HARNESS_H
