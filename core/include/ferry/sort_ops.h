// SPDX-License-Identifier: Apache-2.0
//
// Order, running sums and counts. Names, arguments and results are PyTorch's;
// any dtype and device unless it says otherwise. NaN is larger than all numbers.
// Where a device has no kernel for sorting or scanning, the CPU does it.
#ifndef FERRY_SORT_OPS_H
#define FERRY_SORT_OPS_H

#include <cstdint>

#include "ferry/export.h"
#include "ferry/functional.h"
#include "ferry/tensor.h"

namespace ferry {

// ---- Order: along `dim`; equal elements keep their order --------------------------------
/// The elements in order, and where along `dim` they were.
FERRY_API ValuesAndIndices sort(const Tensor& x, int64_t dim = -1, bool descending = false);
FERRY_API Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
/// The k largest, or smallest, of the elements along `dim`, in order.
FERRY_API ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true);

struct Unique {
  Tensor values;   ///< 1-D, ascending, each once; every NaN is one of its own
  Tensor inverse;  ///< int64, of x's shape: where in `values` each element is
  Tensor counts;   ///< int64: how often each value occurs
};
/// Of all elements of x. Waits, for the shape.
FERRY_API Unique unique(const Tensor& x);

/// int64 or int32: how many elements of the ascending `sequence` along its last
/// dimension are below each value, or with `right` not above it. The sequence is
/// 1-D, or has the values' sizes beside the last. One dtype.
FERRY_API Tensor searchsorted(const Tensor& sequence, const Tensor& values, bool right = false,
                              bool out_int32 = false);
/// The same of one number, which is converted to the dtype of a 1-D sequence.
FERRY_API Tensor searchsorted(const Tensor& sequence, Scalar value, bool right = false,
                              bool out_int32 = false);

// ---- Running sums: integers and bool in int64 ----------------------------------------------
FERRY_API Tensor cumsum(const Tensor& x, int64_t dim);
FERRY_API Tensor cumprod(const Tensor& x, int64_t dim);

/// How often each of 0, 1, ... occurs in 1-D x of integers, or the sum of the
/// weights of its places: float64, of float32 weights float32. At least
/// `minlength` long. Waits, for the shape.
FERRY_API Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0);

}  // namespace ferry

#endif  // FERRY_SORT_OPS_H
