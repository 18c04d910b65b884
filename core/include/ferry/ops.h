// SPDX-License-Identifier: Apache-2.0
//
// Operations on tensors. All are pure functions with a fresh result; they
// broadcast and promote dtypes as PyTorch does. Tensors of one call live on
// one device (a 0-dim CPU tensor goes with any); InvalidArgument names the op,
// the devices and the shapes otherwise.
#ifndef FERRY_OPS_H
#define FERRY_OPS_H

#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ferry/tensor.h"

namespace ferry {

namespace detail {
/// An operand of an element-wise op: a tensor or a number.
struct Operand {
  Operand(const Tensor& t) noexcept : tensor(&t) {}  // NOLINT(google-explicit-constructor)
  Operand(Scalar s) noexcept : scalar(s) {}          // NOLINT(google-explicit-constructor)
  const Tensor* tensor = nullptr;
  Scalar scalar = 0;
};
/// Runs scalar op `code` on 1 to 3 operands, of which one is a tensor.
FERRY_API Tensor elementwise(uint16_t code, std::span<const Operand> operands);
}  // namespace detail

// ---- Element-wise: one function for each line of abi/scalar_ops.def ---------
#define FERRY_OPS_ARITY_0(name, code)
#define FERRY_OPS_ARITY_1(name, code)           \
  inline Tensor name(const Tensor& a) {         \
    const detail::Operand operands[] = {a};     \
    return detail::elementwise(code, operands); \
  }
#define FERRY_OPS_ARITY_2(name, code)                    \
  inline Tensor name(const Tensor& a, const Tensor& b) { \
    const detail::Operand operands[] = {a, b};           \
    return detail::elementwise(code, operands);          \
  }                                                      \
  inline Tensor name(const Tensor& a, Scalar b) {        \
    const detail::Operand operands[] = {a, b};           \
    return detail::elementwise(code, operands);          \
  }                                                      \
  inline Tensor name(Scalar a, const Tensor& b) {        \
    const detail::Operand operands[] = {a, b};           \
    return detail::elementwise(code, operands);          \
  }
#define FERRY_OPS_ARITY_3(name, code)                                                       \
  inline Tensor name(const Tensor& a, const detail::Operand& b, const detail::Operand& c) { \
    const detail::Operand operands[] = {a, b, c};                                           \
    return detail::elementwise(code, operands);                                             \
  }
#define FERRY_OPS_RULE_NONE(arity, name, code)
#define FERRY_OPS_RULE_SAME(arity, name, code) FERRY_OPS_ARITY_##arity(name, code)
#define FERRY_OPS_RULE_FLOAT(arity, name, code) FERRY_OPS_ARITY_##arity(name, code)
#define FERRY_OPS_RULE_BOOL(arity, name, code) FERRY_OPS_ARITY_##arity(name, code)
#define FERRY_OPS_RULE_INT(arity, name, code) FERRY_OPS_ARITY_##arity(name, code)
#define FERRY_OPS_RULE_WHERE(arity, name, code) FERRY_OPS_ARITY_##arity(name, code)
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  FERRY_OPS_RULE_##rule(arity, name, code)
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
#undef FERRY_OPS_RULE_NONE
#undef FERRY_OPS_RULE_SAME
#undef FERRY_OPS_RULE_FLOAT
#undef FERRY_OPS_RULE_BOOL
#undef FERRY_OPS_RULE_INT
#undef FERRY_OPS_RULE_WHERE
#undef FERRY_OPS_ARITY_0
#undef FERRY_OPS_ARITY_1
#undef FERRY_OPS_ARITY_2
#undef FERRY_OPS_ARITY_3

#define FERRY_OPS_OPERATOR(op, name)                                                 \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return name(a, b); } \
  inline Tensor operator op(const Tensor& a, Scalar b) { return name(a, b); }        \
  inline Tensor operator op(Scalar a, const Tensor& b) { return name(a, b); }
FERRY_OPS_OPERATOR(+, add)
FERRY_OPS_OPERATOR(-, sub)
FERRY_OPS_OPERATOR(*, mul)
FERRY_OPS_OPERATOR(/, div)
FERRY_OPS_OPERATOR(==, eq)
FERRY_OPS_OPERATOR(!=, ne)
FERRY_OPS_OPERATOR(<, lt)
FERRY_OPS_OPERATOR(<=, le)
FERRY_OPS_OPERATOR(>, gt)
FERRY_OPS_OPERATOR(>=, ge)
FERRY_OPS_OPERATOR(&, bitwise_and)
FERRY_OPS_OPERATOR(|, bitwise_or)
FERRY_OPS_OPERATOR(^, bitwise_xor)
FERRY_OPS_OPERATOR(%, remainder)
#undef FERRY_OPS_OPERATOR
inline Tensor operator-(const Tensor& a) { return neg(a); }
/// Of bool tensors the logical not.
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }

// ---- Reductions: over `dims` (all when empty), negative counts from the end --
/// Integers and bool sum in int64; halves and f32 accumulate wider than f32 or
/// pairwise.
FERRY_API Tensor sum(const Tensor& x, Sizes dims = {}, bool keepdim = false);
FERRY_API Tensor prod(const Tensor& x, Sizes dims = {}, bool keepdim = false);
/// Floating dtypes only. Of nothing: NaN.
FERRY_API Tensor mean(const Tensor& x, Sizes dims = {}, bool keepdim = false);
/// NaN is the extreme value. InvalidArgument over an empty dimension.
FERRY_API Tensor amax(const Tensor& x, Sizes dims = {}, bool keepdim = false);
FERRY_API Tensor amin(const Tensor& x, Sizes dims = {}, bool keepdim = false);
FERRY_API Tensor any(const Tensor& x, Sizes dims = {}, bool keepdim = false);
FERRY_API Tensor all(const Tensor& x, Sizes dims = {}, bool keepdim = false);
/// Position of the first extreme value along `dim`, int64; without `dim`, of
/// the flattened tensor.
FERRY_API Tensor argmax(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);
FERRY_API Tensor argmin(const Tensor& x, std::optional<int64_t> dim = {}, bool keepdim = false);

// ---- Linear algebra and networks ---------------------------------------------
/// All of PyTorch's shapes: vectors, matrices, broadcast batches.
FERRY_API Tensor matmul(const Tensor& a, const Tensor& b);
/// x [..., in] times weight^T [out, in], plus bias [out] when it is defined.
FERRY_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

struct Conv2dOptions {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;
};
/// Cross-correlation. x [N, C, H, W], weight [O, C / groups, kH, kW], bias [O]
/// or undefined; result [N, O, H', W'].
FERRY_API Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const Conv2dOptions& options = {});

struct Pool2dOptions {
  std::array<int64_t, 2> kernel{2, 2}, stride{0, 0}, padding{0, 0}, dilation{1, 1};
  bool ceil_mode = false;
  bool count_include_pad = true;  ///< average only
};
/// x [N, C, H, W]. A stride of 0 stands for the kernel's size.
FERRY_API Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);
FERRY_API Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options);

/// (x - mean) / sqrt(var + eps) * weight + bias along dimension 1, with the
/// given statistics; one fused kernel. weight and bias [C] or undefined.
FERRY_API Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                            const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
FERRY_API Tensor softmax(const Tensor& x, int64_t dim);
FERRY_API Tensor log_softmax(const Tensor& x, int64_t dim);

/// x with dimension `dim` replaced by x[index[i]]; index is 1-D, int64.
FERRY_API Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
/// out[.., i, ..] = x[.., index[.., i, ..], ..] along `dim`.
FERRY_API Tensor gather(const Tensor& x, int64_t dim, const Tensor& index);
/// weight [n, d] at index of any shape: [..., d].
FERRY_API Tensor embedding(const Tensor& weight, const Tensor& index);
/// Joins along `dim`; shapes agree elsewhere, dtypes are promoted.
FERRY_API Tensor cat(const std::vector<Tensor>& tensors, int64_t dim = 0);

// ---- Comparing -----------------------------------------------------------------
/// Same shape and every element equal.
FERRY_API bool equal(const Tensor& a, const Tensor& b);
/// Same shape and |a - b| <= atol + rtol * |b| everywhere.
FERRY_API bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                        bool equal_nan = false);

}  // namespace ferry

#endif  // FERRY_OPS_H
