// SPDX-License-Identifier: Apache-2.0
//
// Functions that take tensors apart, rearrange and join them. Names, arguments
// and results are PyTorch's; any dtype and device. InvalidArgument names the
// function, the sizes and the shape.
#ifndef FERRY_SHAPE_OPS_H
#define FERRY_SHAPE_OPS_H

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ferry/export.h"
#include "ferry/tensor.h"

namespace ferry {

// ---- Views: share storage -------------------------------------------------------
/// Dimensions `from` at the places `to`; the others keep their order.
FERRY_API Tensor movedim(const Tensor& x, Sizes from, Sizes to);
FERRY_API Tensor movedim(const Tensor& x, int64_t from, int64_t to);
FERRY_API Tensor swapaxes(const Tensor& x, int64_t d0, int64_t d1);
/// As expand(); sizes of 1 repeat.
FERRY_API Tensor broadcast_to(const Tensor& x, Sizes shape);
/// Parts of `size` along `dim`; the last may be smaller.
FERRY_API std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
/// Parts of the given sizes, which add up to that of `dim`.
FERRY_API std::vector<Tensor> split(const Tensor& x, Sizes sizes, int64_t dim = 0);
/// At most `chunks` parts of one size, but for the last.
FERRY_API std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
/// Exactly `sections` parts; the first ones are larger by one where need be.
FERRY_API std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0);
/// Cut before each index, which counts as in a slice.
FERRY_API std::vector<Tensor> tensor_split(const Tensor& x, Sizes indices, int64_t dim = 0);
/// The tensors along `dim`, without it.
FERRY_API std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
/// Windows of `size` elements, `step` apart: `dim` counts the windows, a new last
/// dimension the elements in one.
FERRY_API Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step);
/// Elements whose index along dim2 is `offset` more than along dim1, as a new
/// last dimension.
FERRY_API Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
/// Views of each tensor in the shape of all sizes together. "ij", or "xy", in
/// which the first two dimensions change places.
FERRY_API std::vector<Tensor> meshgrid(const std::vector<Tensor>& tensors,
                                       std::string_view indexing = "ij");
/// With at least so many dimensions: sizes of 1 are put before them.
FERRY_API Tensor atleast_1d(const Tensor& x);
FERRY_API Tensor atleast_2d(const Tensor& x);

// ---- Rearranged copies ------------------------------------------------------------
FERRY_API Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length);
/// A copy, backwards along `dims`: strides are never negative.
FERRY_API Tensor flip(const Tensor& x, Sizes dims);
/// Moves along each of `dims` by its shift, around the end; without `dims` of the
/// flattened tensor.
FERRY_API Tensor roll(const Tensor& x, Sizes shifts, Sizes dims = {});
/// Side by side, so often along each dimension; there are at least x.dim()
/// repeats, the last for the last dimension.
FERRY_API Tensor repeat(const Tensor& x, Sizes repeats);
/// The same with fewer repeats allowed.
FERRY_API Tensor tile(const Tensor& x, Sizes repeats);
/// Each element `repeats` times in a row along `dim`, or of the flattened tensor.
FERRY_API Tensor repeat_interleave(const Tensor& x, int64_t repeats,
                                   std::optional<int64_t> dim = {});

enum class PadMode { kConstant, kReflect, kReplicate, kCircular };
/// `padding`: before and after, of the last dimension, then of the one before it.
/// Negative numbers take away. Reflecting leaves out the edge itself, so there
/// the padding is below the size. `value` is for kConstant.
FERRY_API Tensor pad(const Tensor& x, Sizes padding, PadMode mode = PadMode::kConstant,
                     Scalar value = 0);

// ---- Joining ------------------------------------------------------------------------
/// Along a new dimension; one shape, dtypes are promoted.
FERRY_API Tensor stack(const std::vector<Tensor>& tensors, int64_t dim = 0);
/// cat() along dimension 1, of vectors along 0.
FERRY_API Tensor hstack(const std::vector<Tensor>& tensors);
/// cat() along dimension 0, vectors being rows.
FERRY_API Tensor vstack(const std::vector<Tensor>& tensors);

// ---- Matrices and sequences -----------------------------------------------------------
/// The matrices of the last two dimensions, 0 above (tril) or below (triu)
/// diagonal `diagonal`.
FERRY_API Tensor tril(const Tensor& x, int64_t diagonal = 0);
FERRY_API Tensor triu(const Tensor& x, int64_t diagonal = 0);
/// 1 on the diagonal of an n x m matrix, else 0. m of -1 stands for n.
FERRY_API Tensor eye(int64_t n, int64_t m = -1, TensorOptions options = {});
/// `steps` values from start to end, both among them.
FERRY_API Tensor linspace(Scalar start, Scalar end, int64_t steps, TensorOptions options = {});
/// Of a vector the matrix with it on a diagonal; of a matrix a copy of that
/// diagonal.
FERRY_API Tensor diag(const Tensor& x, int64_t diagonal = 0);
/// int64 of shape [..., num_classes]: 1 at the class, else 0. Classes are
/// integers from 0; -1 takes one more than the largest. Waits.
FERRY_API Tensor one_hot(const Tensor& classes, int64_t num_classes = -1);
/// [n] and [m] to [n, m]: a[i] b[j].
FERRY_API Tensor outer(const Tensor& a, const Tensor& b);

}  // namespace ferry

#endif  // FERRY_SHAPE_OPS_H
