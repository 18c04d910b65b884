// SPDX-License-Identifier: Apache-2.0
//
// Products, convolution, pooling, normalisation and gathering of the judge,
// with the sum of magnitudes that an error bound needs.
#ifndef FERRY_REFERENCE_NETWORK_H
#define FERRY_REFERENCE_NETWORK_H

#include "ferry/abi/kernel.h"
#include "reference/array.h"

namespace ferry::reference {

/// A result, and for each element the sum of the magnitudes of its terms: a sum
/// of k terms in precision u is off by at most about k * u * size.
struct Bounded {
  Array value, size;
};

/// out[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]. Both have two
/// dimensions or more; those before the last two broadcast.
Bounded matmul(const Array& a, const Array& b);

/// Cross-correlation with the meaning of conv/1, over attr.spatial dimensions:
///   out[n, o, i] = bias[o] + sum over c, k of
///       x[n, g * C + c, i * stride - padding + k * dilation] * weight[o, c, k]
/// where C = weight.size(1), g = o / (O / groups), and i, k are positions in
/// the spatial dimensions; x is 0 outside. `bias` may be empty.
Bounded conv(const Array& x, const Array& weight, const Array& bias, const ferry_conv_attr& attr,
             std::vector<int64_t> out_shape);

/// With the meaning of pool/1, over attr.spatial dimensions. The window of
/// output position i covers i * stride - padding + k * dilation, 0 <= k <
/// kernel. Maximum: of the elements inside x, NaN when one is. Average: their
/// sum divided by their number, or with count_include_pad by the number of
/// positions within x and its padding.
Array pool(const Array& x, const ferry_pool_attr& attr, std::vector<int64_t> out_shape);

/// out[n, c, ..] = (x[n, c, ..] - mean[c]) / sqrt(var[c] + eps) * weight[c] +
/// bias[c]; weight and bias may be empty.
Array batch_norm(const Array& x, const Array& mean, const Array& var, const Array& weight,
                 const Array& bias, double eps);

/// out[.., i, ..] = x[.., index[i], ..] along `axis`; index is 1-D.
Array gather_select(const Array& x, const std::vector<int64_t>& index, size_t axis);
/// out[p] = x[p with p[axis] = index[p]], for all positions p of `index`.
Array gather_element(const Array& x, const Array& index, size_t axis);

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_NETWORK_H
