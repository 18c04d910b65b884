// SPDX-License-Identifier: Apache-2.0
//
// x.index({Slice(1, None), 0, Ellipsis, mask}) as in libtorch, and reading and
// writing at places that tensors name. Any dtype and device. InvalidArgument
// names the function, the index, dimension and size.
//
// Where a device has no kernel for scattering, the CPU does it. nonzero() and
// what needs it (masks as an index, masked_select) wait, for the count is the
// shape of the result; index() and index_put_() wait where integer tensors are
// among the indices, so that a wrong one is an error of that call.
#ifndef FERRY_INDEXING_H
#define FERRY_INDEXING_H

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "ferry/export.h"
#include "ferry/tensor.h"

namespace ferry {

namespace indexing {

/// As an index a new dimension of size 1; in a Slice the default.
inline constexpr std::nullopt_t None = std::nullopt;

struct EllipsisType {};
/// All dimensions that the other indices leave.
inline constexpr EllipsisType Ellipsis{};

/// start, start + step, ... below stop, as Python's; step >= 1.
struct Slice {
  Slice(std::optional<int64_t> first = {}, std::optional<int64_t> end = {},
        std::optional<int64_t> by = {}) noexcept
      : start(first.value_or(0)),
        stop(end.value_or(std::numeric_limits<int64_t>::max())),
        step(by.value_or(1)) {}
  int64_t start, stop, step;
};

/// One index: what it is made from says what it does.
class TensorIndex {
 public:
  enum class Kind { kNone, kEllipsis, kInteger, kBool, kSlice, kTensor };

  TensorIndex(std::nullopt_t) noexcept : kind_(Kind::kNone) {}    // NOLINT(*-explicit-*)
  TensorIndex(EllipsisType) noexcept : kind_(Kind::kEllipsis) {}  // NOLINT(*-explicit-*)
  /// The element; negative counts from the end. `true` is a new dimension of
  /// size 1, `false` one of size 0.
  template <std::integral T>
  TensorIndex(T value) noexcept  // NOLINT(*-explicit-*)
      : kind_(std::same_as<T, bool> ? Kind::kBool : Kind::kInteger),
        slice_(static_cast<int64_t>(value)) {}
  TensorIndex(Slice slice) noexcept : kind_(Kind::kSlice), slice_(slice) {}  // NOLINT(*-explicit-*)
  /// bool: the elements where it is true, its dimensions being those of x that it
  /// stands for. int64, int32: positions, negative ones from the end; several
  /// such tensors broadcast together.
  TensorIndex(Tensor tensor) noexcept  // NOLINT(*-explicit-*)
      : kind_(Kind::kTensor), tensor_(std::move(tensor)) {}

  Kind kind() const noexcept { return kind_; }
  int64_t integer() const noexcept { return slice_.start; }
  const Slice& slice() const noexcept { return slice_; }
  const Tensor& tensor() const noexcept { return tensor_; }

 private:
  Kind kind_;
  Slice slice_;
  Tensor tensor_;
};

}  // namespace indexing

// ---- Indexing -----------------------------------------------------------------------
/// x[indices]. A view where no index is a tensor or bool, else a copy. The
/// dimensions of index tensors come where the first of them is, or, where
/// something else stands between them, first of all.
FERRY_API Tensor index(const Tensor& x, std::span<const indexing::TensorIndex> indices);
FERRY_API Tensor index(const Tensor& x, std::initializer_list<indexing::TensorIndex> indices);
/// x[indices] = value, or += with `accumulate`. The value broadcasts and is
/// converted. Of several values for one place, one stays.
FERRY_API const Tensor& index_put_(const Tensor& x, std::span<const indexing::TensorIndex> indices,
                                   const Tensor& value, bool accumulate = false);
FERRY_API const Tensor& index_put_(const Tensor& x,
                                   std::initializer_list<indexing::TensorIndex> indices,
                                   const Tensor& value, bool accumulate = false);
FERRY_API const Tensor& index_put_(const Tensor& x,
                                   std::initializer_list<indexing::TensorIndex> indices,
                                   Scalar value);

// ---- Scattering: writes x; source has x's dtype, index is int64 or int32 -----------
/// x[.., index[.., i, ..], ..] = source[.., i, ..] along `dim`. The index is not
/// larger than the source, nor beside `dim` than x; of several values for one
/// place, one stays.
FERRY_API const Tensor& scatter_(const Tensor& x, int64_t dim, const Tensor& index,
                                 const Tensor& source);
FERRY_API const Tensor& scatter_(const Tensor& x, int64_t dim, const Tensor& index, Scalar value);
FERRY_API const Tensor& scatter_add_(const Tensor& x, int64_t dim, const Tensor& index,
                                     const Tensor& source);
/// `reduce` is "sum", "prod", "mean", "amax" or "amin" of all values for one
/// place, and with `include_self` of what was there. The mean of integers is
/// rounded down.
FERRY_API const Tensor& scatter_reduce_(const Tensor& x, int64_t dim, const Tensor& index,
                                        const Tensor& source, std::string_view reduce,
                                        bool include_self = true);
/// The same into a copy of x.
FERRY_API Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source);
FERRY_API Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index,
                             const Tensor& source);
FERRY_API Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index,
                                const Tensor& source, std::string_view reduce,
                                bool include_self = true);
/// x[.., index[i], ..] = source[.., i, ..], or +=, or = value. index is 1-D.
FERRY_API const Tensor& index_copy_(const Tensor& x, int64_t dim, const Tensor& index,
                                    const Tensor& source);
FERRY_API const Tensor& index_add_(const Tensor& x, int64_t dim, const Tensor& index,
                                   const Tensor& source, Scalar alpha = 1);
FERRY_API const Tensor& index_fill_(const Tensor& x, int64_t dim, const Tensor& index,
                                    Scalar value);

// ---- Masks: bool, broadcasting with x ------------------------------------------------
/// x with `value`, converted to x's dtype, where the mask is true.
FERRY_API Tensor masked_fill(const Tensor& x, const Tensor& mask, Scalar value);
/// `value` has no dimensions.
FERRY_API Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
FERRY_API const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, Scalar value);
FERRY_API const Tensor& masked_fill_(const Tensor& x, const Tensor& mask, const Tensor& value);
/// The elements where the mask is true, 1-D, in row-major order. Waits.
FERRY_API Tensor masked_select(const Tensor& x, const Tensor& mask);
/// int64 [n, x.dim()]: the positions of what is not 0, in row-major order. Waits.
FERRY_API Tensor nonzero(const Tensor& x);

// ---- Reading --------------------------------------------------------------------------
/// Elements of the flattened x, in the shape of the index; negative positions
/// count from the end. Waits.
FERRY_API Tensor take(const Tensor& x, const Tensor& index);
/// gather() with x and index broadcast beside `dim`; without `dim` of both
/// flattened.
FERRY_API Tensor take_along_dim(const Tensor& x, const Tensor& index,
                                std::optional<int64_t> dim = {});

}  // namespace ferry

#endif  // FERRY_INDEXING_H
