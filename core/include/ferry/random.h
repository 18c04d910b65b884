// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: one counter-based generator for all devices.
#ifndef FERRY_RANDOM_H
#define FERRY_RANDOM_H

#include <array>
#include <cstdint>
#include <memory>

#include "ferry/export.h"
#include "ferry/tensor.h"

namespace ferry {

/// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011): four random words as
/// a function of a counter and a key, without any other state.
FERRY_API std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                             std::array<uint32_t, 2> key) noexcept;

/// A stream of random numbers: a seed, which is Philox's key, and a position,
/// which is the counter of the next block. Element i of a draw is made from the
/// words 2 * (i % 2) and the next (the low and the high half of 64 bits) of
/// block position + i / 2; a draw of n elements moves the position on by
/// (n + 1) / 2. So a draw depends on seed, position and count alone, and not on
/// device, shape or threads. Where dtypes differ, the same 64 bits are used to
/// the places that the dtype has.
///
/// A handle: copies share the stream. Safe from several threads: a draw takes
/// its blocks at once, so no two draws overlap.
class FERRY_API Generator {
 public:
  struct State {
    uint64_t seed = 0;
    uint64_t position = 0;
    bool operator==(const State&) const = default;
  };

  explicit Generator(uint64_t seed = 0);

  /// Begins again, at position 0 of the stream of `seed`.
  Generator& manual_seed(uint64_t seed);
  uint64_t seed() const { return get_state().seed; }
  State get_state() const;
  void set_state(const State& state);
  /// The state before, and moves on by `count` elements: for draws of one's own.
  State advance(uint64_t count);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// The one that is used where none is given. Its seed is 0 until manual_seed().
FERRY_API Generator& default_generator();
/// Starts the default generator again: what is drawn afterwards in the same
/// order, first values of modules among it, is the same on every device. Any
/// thread. The numbers may change with Ferry's version.
FERRY_API Generator& manual_seed(uint64_t seed);

// ---- Drawing -----------------------------------------------------------------
// Numbers are made on the host and copied, so that all devices get the same
// bits and need no kernel for it. InvalidArgument for a dtype that does not fit.

/// Uniform in [0, 1): multiples of 2^-53 for float64, 2^-24 for float32, 2^-11
/// for float16, 2^-8 for bfloat16. Floating dtypes.
FERRY_API Tensor rand(Sizes shape, TensorOptions options = {}, Generator g = default_generator());
/// Normal, of mean 0 and deviation 1 (Box and Muller, in double). Floating
/// dtypes.
FERRY_API Tensor randn(Sizes shape, TensorOptions options = {}, Generator g = default_generator());
/// Integers in [low, high), int64 by default. Each is drawn with its probability
/// to within (high - low) / 2^64. InvalidArgument where there are none, or where
/// the dtype does not hold them all.
FERRY_API Tensor randint(int64_t low, int64_t high, Sizes shape, TensorOptions options = {},
                         Generator g = default_generator());
/// The numbers 0..n-1 in random order, int64 by default.
FERRY_API Tensor randperm(int64_t n, TensorOptions options = {}, Generator g = default_generator());
/// Of the shape, dtype and device of `like`.
FERRY_API Tensor rand_like(const Tensor& like, Generator g = default_generator());
FERRY_API Tensor randn_like(const Tensor& like, Generator g = default_generator());
/// 1 with the probability that stands in `p`, else 0; of p's dtype, which is
/// floating. Probabilities below 0 count as 0, above 1 as 1, NaN as 0.
FERRY_API Tensor bernoulli(const Tensor& p, Generator g = default_generator());

/// Overwrite all elements and return `x`; strided views too. Rounding may give
/// the upper end `to` itself.
FERRY_API const Tensor& uniform_(const Tensor& x, double from = 0, double to = 1,
                                 Generator g = default_generator());
FERRY_API const Tensor& normal_(const Tensor& x, double mean = 0, double std = 1,
                                Generator g = default_generator());
/// The normal distribution, cut to [low, high]. InvalidArgument unless low <
/// high and std > 0.
FERRY_API const Tensor& trunc_normal_(const Tensor& x, double mean = 0, double std = 1,
                                      double low = -2, double high = 2,
                                      Generator g = default_generator());
/// 1 with probability `p`, else 0. Any dtype.
FERRY_API const Tensor& bernoulli_(const Tensor& x, double p = 0.5,
                                   Generator g = default_generator());

/// In training, each element is 0 with probability `p` and x / (1 - p)
/// otherwise; else x itself. InvalidArgument unless 0 <= p <= 1.
FERRY_API Tensor dropout(const Tensor& x, double p = 0.5, bool training = true,
                         Generator g = default_generator());

}  // namespace ferry

#endif  // FERRY_RANDOM_H
