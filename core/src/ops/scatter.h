// SPDX-License-Identifier: Apache-2.0
//
// Positions and scattering, for the functions that are made of them.
#ifndef FERRY_OPS_SCATTER_H
#define FERRY_OPS_SCATTER_H

#include <cstdint>

#include "ferry/abi/kernel.h"
#include "tensor/tensor_impl.h"

namespace ferry::ops {

/// The positions as the kernels take them: int64. InvalidArgument for others
/// than int64 and int32.
Tensor as_index(const Tensor& index, const char* where);

/// Negative ones among -size..-1 count from the end; others stay as they are.
Tensor wrap_positions(const Tensor& index, int64_t size, const char* where);

/// InvalidArgument naming the first position outside -size..size-1, and
/// dimension `dim`. Waits.
void require_positions(const Tensor& index, int64_t size, int64_t dim, const char* where);

/// InvalidArgument where elements of x, which is written, share memory.
void refuse_overlap(const Tensor& x, const char* where);

struct Scattering {
  uint32_t mode;  ///< FERRY_SCATTER_SELECT or _ELEMENT
  uint32_t op;    ///< ferry_scatter_op
  size_t axis;
};
/// As scatter/1, into x, which has dimensions. Shapes fit and dtypes agree; the
/// source may be empty or share memory with x.
void scatter_into(const char* where, const Tensor& x, const Tensor& index, const Tensor& source,
                  Scattering how);

}  // namespace ferry::ops

#endif  // FERRY_OPS_SCATTER_H
