// SPDX-License-Identifier: Apache-2.0
//
// Functions made of the operations in ferry/ops.h: statistics, products and
// what networks use. They run on every device and need no kernel of their own.
// Names, shapes and defaults are PyTorch's; InvalidArgument names the function
// and the shapes.
#ifndef FERRY_FUNCTIONAL_H
#define FERRY_FUNCTIONAL_H

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "ferry/export.h"
#include "ferry/ops.h"
#include "ferry/tensor.h"

namespace ferry {

// ---- Statistics: over `dims` (all when empty); floating dtypes ----------------
/// Sum of squared distances from the mean over n - correction, not below 0.
/// Halves are computed in float32.
FERRY_API Tensor var(const Tensor& x, Sizes dims = {}, double correction = 1, bool keepdim = false);
FERRY_API Tensor std(const Tensor& x, Sizes dims = {}, double correction = 1, bool keepdim = false);
/// (sum |x|^p)^(1/p); the largest |x| for p = infinity, the smallest for
/// -infinity, the count of what is not 0 for p = 0.
FERRY_API Tensor norm(const Tensor& x, double p = 2, Sizes dims = {}, bool keepdim = false);
/// log(sum(exp(x))), without overflow.
FERRY_API Tensor logsumexp(const Tensor& x, Sizes dims, bool keepdim = false);
/// int64. Any dtype.
FERRY_API Tensor count_nonzero(const Tensor& x, Sizes dims = {});

struct ValuesAndIndices {
  Tensor values, indices;  ///< indices: int64, of the first extreme value
};
/// The extreme value along `dim` and where it is. NaN is extreme. Any dtype.
FERRY_API ValuesAndIndices max(const Tensor& x, int64_t dim, bool keepdim = false);
FERRY_API ValuesAndIndices min(const Tensor& x, int64_t dim, bool keepdim = false);

/// sum(a b) / (max(|a|, eps) max(|b|, eps)) along `dim`; a and b broadcast.
FERRY_API Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1,
                                   double eps = 1e-8);

// ---- Products -------------------------------------------------------------------
/// [B, m, k] times [B, k, n].
FERRY_API Tensor bmm(const Tensor& a, const Tensor& b);
/// [m, k] times [k].
FERRY_API Tensor mv(const Tensor& a, const Tensor& b);
/// beta c + alpha a b, c broadcast to the product. Where beta is 0 c is not
/// read.
FERRY_API Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1,
                       Scalar alpha = 1);
FERRY_API Tensor baddbmm(const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta = 1,
                         Scalar alpha = 1);
/// Einstein's sum: letters name dimensions, commas part the operands; what is
/// not after "->" is summed over. Without "->" the letters that occur once, in
/// alphabetical order. A letter twice in one operand takes the diagonal; "..."
/// are dimensions that broadcast. Operands are taken in order from the left.
FERRY_API Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands);

// ---- Normalisation: halves in float32; weight and bias may be undefined -----------
/// (x - mean) / sqrt(var + eps) * weight + bias over the last dimensions.
FERRY_API Tensor layer_norm(const Tensor& x, Sizes normalized_shape, const Tensor& weight = {},
                            const Tensor& bias = {}, double eps = 1e-5);
/// x / sqrt(mean(x^2) + eps) * weight over the last dimensions.
FERRY_API Tensor rms_norm(const Tensor& x, Sizes normalized_shape, const Tensor& weight = {},
                          double eps = 1e-5);
/// x [N, C, d...], over each of `groups` groups of channels; weight, bias [C].
FERRY_API Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = {},
                            const Tensor& bias = {}, double eps = 1e-5);
/// x [N, C, d...], over each channel of each image; weight, bias [C].
FERRY_API Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {},
                               double eps = 1e-5);

// ---- Attention ---------------------------------------------------------------------
struct AttentionOptions {
  /// Broadcasts to [..., L, S]. bool: where it is false nothing is looked at;
  /// floating: added to the scores.
  Tensor mask;
  /// Position i looks at positions 0..i. Not together with `mask`.
  bool is_causal = false;
  std::optional<double> scale;  ///< default 1 / sqrt(E)
};
/// softmax(query key^T scale + mask) value. query [..., H, L, E], key [..., G, S,
/// E], value [..., G, S, V], result [..., H, L, V]. G divides H: each key serves
/// H / G heads. With less than 3 dimensions there is one head. A position that
/// may look at nothing gives NaN.
FERRY_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                              const Tensor& value,
                                              const AttentionOptions& options = {});

/// Cosine and sine of position times base^(-2 i / dim), for i below dim / 2:
/// [length, dim / 2] each, float32.
struct RotaryTables {
  Tensor cos, sin;
};
FERRY_API RotaryTables rotary_tables(int64_t length, int64_t dim, double base = 10000,
                                     const Device& device = Device());
/// Turns pairs of the last dimension of x [..., length, dim]: elements i and i +
/// dim / 2, or with `interleaved` 2 i and 2 i + 1.
FERRY_API Tensor rotary_embedding(const Tensor& x, const RotaryTables& tables,
                                  bool interleaved = false);

// ---- Images and signals ----------------------------------------------------------
enum class Interpolation { kNearest, kBilinear };
struct InterpolateOptions {
  std::vector<int64_t> size;         ///< one for each spatial dimension, or
  std::vector<double> scale_factor;  ///< this, one for all or one for each
  Interpolation mode = Interpolation::kNearest;
  bool align_corners = false;  ///< bilinear: the corners' centres stay
};
/// x [N, C, d...] of 1 to 3 spatial dimensions; "bilinear" is linear along each.
FERRY_API Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

struct Conv1dOptions {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
/// x [N, C, L] or [C, L], weight [O, C / groups, k], bias [O] or undefined.
FERRY_API Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const Conv1dOptions& options = {});

struct ConvTranspose2dOptions {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, output_padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;
};
/// The transpose of conv2d as a linear map. x [N, C, H, W], weight [C, O /
/// groups, kH, kW], bias [O]; sizes (H - 1) stride - 2 padding + dilation (kH -
/// 1) + output_padding + 1.
FERRY_API Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                                  const ConvTranspose2dOptions& options = {});

/// x [N, C, H, W] or [C, H, W]: output i is the mean of inputs floor(i H / h) to
/// below ceil((i + 1) H / h).
FERRY_API Tensor adaptive_avg_pool2d(const Tensor& x, std::array<int64_t, 2> output_size);

struct Pool1dOptions {
  int64_t kernel = 2, stride = 0, padding = 0, dilation = 1;
  bool ceil_mode = false;
};
/// x [N, C, L] or [C, L]. A stride of 0 stands for the kernel's size.
FERRY_API Tensor max_pool1d(const Tensor& x, const Pool1dOptions& options);

}  // namespace ferry

#endif  // FERRY_FUNCTIONAL_H
