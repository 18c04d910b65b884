// SPDX-License-Identifier: Apache-2.0
//
// Products, convolution and pooling of the judge, with the sum of magnitudes
// that an error bound needs.
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

/// out[m, n] = sum over k of a[m, k] * b[k, n].
Bounded matmul(const Array& a, const Array& b);

/// Cross-correlation with the meaning of conv/1; two spatial dimensions. `bias`
/// may be empty.
Bounded conv2d(const Array& x, const Array& weight, const Array& bias, const ferry_conv_attr& attr,
               std::vector<int64_t> out_shape);

/// With the meaning of pool/1; two spatial dimensions.
Array pool2d(const Array& x, const ferry_pool_attr& attr, std::vector<int64_t> out_shape);

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_NETWORK_H
