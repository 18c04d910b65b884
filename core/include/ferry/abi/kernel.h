/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels: how a plugin declares what its devices can compute, and the
 * contract of each kernel family.
 *
 * Before a kernel sees a call the host has inferred shapes, allocated the
 * outputs, promoted dtypes, settled empty tensors and refused overlapping
 * writes. Where a kernel's flags lack FERRY_KERNEL_STRIDED, every tensor is
 * contiguous in row-major order.
 */
#ifndef FERRY_ABI_KERNEL_H
#define FERRY_ABI_KERNEL_H

#include "program.h"
#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Everything about one launch. Arrays belong to the host and live until the
 * call returns; a launch that goes on after that copies what it needs. */
typedef struct ferry_call {
  uint32_t size;
  uint32_t n_in, n_out;
  uint32_t reserved;
  const ferry_tensor* in;
  ferry_tensor const* out;
  const void* attr;         /* the family's attribute struct, or NULL */
  const ferry_program* map; /* fused program, or NULL */
  ferry_device device;
  ferry_stream stream;    /* NULL: done when the launch returns */
  ferry_location scratch; /* at least what `scratch` asked for */
  uint64_t scratch_bytes;
} ferry_call;

/* Flags of a kernel. */
enum {
  FERRY_KERNEL_STRIDED = 1u << 0, /* any strides, 0 among them */
  FERRY_KERNEL_INPLACE = 1u << 1, /* an output may be exactly an input */
  FERRY_KERNEL_DETERMINISTIC = 1u << 2
};

/* A kernel. Optional members are NULL. The array of kernels is walked by the
 * element's own `size`. */
typedef struct ferry_kernel ferry_kernel;
struct ferry_kernel {
  uint32_t size;
  uint32_t flags;
  const char* family; /* "matmul/1": name and contract revision */
  uint64_t dtypes;    /* mask: each dtype among the call's tensors must be in it */
  void* self;         /* the plugin's own */
  /* Optional: FERRY_OK or FERRY_DECLINED. Looks at shapes, dtypes, attributes
   * and the program only; called from any thread. A call that was accepted
   * here must not be refused by `launch`. */
  ferry_rc (*check)(const ferry_kernel*, const ferry_call*);
  /* Optional: bytes of scratch memory for this call. */
  uint64_t (*scratch)(const ferry_kernel*, const ferry_call*);
  ferry_rc (*launch)(const ferry_kernel*, const ferry_call*);
};

/* map/1: out[k] = program(in...). All tensors have the same shape; inputs
 * repeat through strides of 0. attr: NULL. FERRY_OP_INDEX is the row-major
 * number of the element in that shape. Several outputs are allowed. */
#define FERRY_FAMILY_MAP "map/1"

/* reduce/1: over the dimensions in `axes`, which have size 1 in the output.
 * in[0] is reduced, or with a map the value of the program over in... . Sums
 * and products of f16, bf16 and f32 accumulate pairwise or wider than f32, so
 * that the error does not grow with the length; integer sums wrap in i64; the
 * result is converted as a map program's output is. ARGMAX and ARGMIN give
 * the first position along the one axis, as i64. MAX, MIN, ARGMAX and ARGMIN
 * take NaN as the extreme value. ANY and ALL give bool from "is not 0". */
#define FERRY_FAMILY_REDUCE "reduce/1"
typedef enum ferry_reduce_op {
  FERRY_REDUCE_SUM = 0,
  FERRY_REDUCE_PROD = 1,
  FERRY_REDUCE_MAX = 2,
  FERRY_REDUCE_MIN = 3,
  FERRY_REDUCE_ANY = 4,
  FERRY_REDUCE_ALL = 5,
  FERRY_REDUCE_ARGMAX = 6,
  FERRY_REDUCE_ARGMIN = 7
} ferry_reduce_op;
typedef struct ferry_reduce_attr {
  uint32_t size;
  uint32_t op;   /* ferry_reduce_op */
  uint32_t axes; /* bit d: dimension d is reduced */
  uint32_t reserved;
} ferry_reduce_attr;

/* matmul/1: out[..., m, n] = sum over k of a[..., m, k] * b[..., k, n]; the
 * batch dimensions are equal (repeated through strides of 0). One dtype for
 * all. attr: NULL. With a map: register 0 is the product, in[2...] have the
 * output's shape, and the program's one output is stored. f16 and bf16
 * accumulate in f32. */
#define FERRY_FAMILY_MATMUL "matmul/1"

/* conv/1: cross-correlation. in[0] = x [N, C, spatial...], in[1] = weight
 * [O, C / groups, kernel...], in[2], optional, = bias [O]; out [N, O, ...].
 * Attribute k concerns spatial dimension k. */
#define FERRY_FAMILY_CONV "conv/1"
typedef struct ferry_conv_attr {
  uint32_t size;
  uint32_t spatial; /* 1, 2 or 3 */
  int64_t stride[3], padding[3], dilation[3];
  int64_t groups;
} ferry_conv_attr;

/* pool/1: in[0] = x [N, C, spatial...], out [N, C, ...]. MAX pads with the
 * lowest value and hands NaN on; AVERAGE divides by the window's size, or by
 * the elements inside the input where count_include_pad is 0. */
#define FERRY_FAMILY_POOL "pool/1"
enum { FERRY_POOL_MAX = 0, FERRY_POOL_AVERAGE = 1 };
typedef struct ferry_pool_attr {
  uint32_t size;
  uint32_t spatial;
  uint32_t op;
  uint32_t count_include_pad;
  int64_t kernel[3], stride[3], padding[3], dilation[3];
} ferry_pool_attr;

/* gather/1: in[0] = x of any dtype, in[1] = indices, i64. SELECT: indices is
 * 1-D and out is x with dimension `axis` replaced by x[index[i]]. ELEMENT:
 * out and indices have one shape, out[.., i, ..] = x[.., index[.., i, ..], ..].
 * An index outside 0..size-1 writes nothing and fails the launch with
 * FERRY_E_ARG, at once or at the next wait. */
#define FERRY_FAMILY_GATHER "gather/1"
enum { FERRY_GATHER_SELECT = 0, FERRY_GATHER_ELEMENT = 1 };
typedef struct ferry_gather_attr {
  uint32_t size;
  uint32_t mode;
  uint32_t axis;
  uint32_t reserved;
} ferry_gather_attr;

/* softmax/1: out[0] = exp(x - m) / sum of exp(x - m) along dimension `axis`, m
 * being the largest x; with `logarithm` not 0 the logarithm of that. in[0] = x;
 * one shape and floating dtype; f16 and bf16 compute in f32. */
#define FERRY_FAMILY_SOFTMAX "softmax/1"
typedef struct ferry_softmax_attr {
  uint32_t size;
  uint32_t axis;
  uint32_t logarithm;
  uint32_t reserved;
} ferry_softmax_attr;

/* layer_norm/1: over the last `dims` dimensions of in[0] = x: (x - mean) /
 * sqrt(variance + eps), the variance being that of all elements; with
 * FERRY_LAYER_NORM_RMS x / sqrt(mean of squares + eps). Then times in[1] where
 * there is a weight, plus the next input where there is a bias; both have the
 * shape of those dimensions. One floating dtype; f16 and bf16 compute in f32. */
#define FERRY_FAMILY_LAYER_NORM "layer_norm/1"
enum {
  FERRY_LAYER_NORM_WEIGHT = 1u << 0,
  FERRY_LAYER_NORM_BIAS = 1u << 1,
  FERRY_LAYER_NORM_RMS = 1u << 2
};
typedef struct ferry_layer_norm_attr {
  uint32_t size;
  uint32_t dims;
  uint32_t flags; /* FERRY_LAYER_NORM_ */
  uint32_t reserved;
  double eps;
} ferry_layer_norm_attr;

/* scatter/1: out[0] = in[0] with the elements of in[2] = source put into it at
 * the places that in[1] = indices, i64, says. out[0], in[0] and source have one
 * dtype. SELECT: indices is 1-D, source has out's shape but for dimension `axis`,
 * which has the indices' count: out[.., index[i], ..] op= source[.., i, ..].
 * ELEMENT: source and indices have one shape, of no more than out's sizes beside
 * `axis`: out[.., index[.., i, ..], ..] op= source[.., i, ..]. Several sources of
 * one place: ASSIGN keeps one of them, and the others take all of them; f16 and
 * bf16 may round after each. ADD of bool is "or", MUL "and"; integers wrap; MAX
 * and MIN take NaN as the extreme value. A kernel has FERRY_KERNEL_INPLACE: in[0]
 * is often out[0] itself. An index outside 0..size-1 writes nothing but in[0] and
 * fails the launch with FERRY_E_ARG, at once or at the next wait. */
#define FERRY_FAMILY_SCATTER "scatter/1"
enum { FERRY_SCATTER_SELECT = 0, FERRY_SCATTER_ELEMENT = 1 };
typedef enum ferry_scatter_op {
  FERRY_SCATTER_ASSIGN = 0,
  FERRY_SCATTER_ADD = 1,
  FERRY_SCATTER_MUL = 2,
  FERRY_SCATTER_MAX = 3,
  FERRY_SCATTER_MIN = 4
} ferry_scatter_op;
typedef struct ferry_scatter_attr {
  uint32_t size;
  uint32_t mode;
  uint32_t op; /* ferry_scatter_op */
  uint32_t axis;
} ferry_scatter_attr;

/* sort/1: out[0] = the elements of in[0] = x in order along dimension `axis`,
 * out[1] = where along it they were in x, i64. The outputs have x's shape, or less
 * along `axis`: then the first so many. Equal elements keep their order, which is
 * by position both ways; NaN is larger than all numbers. */
#define FERRY_FAMILY_SORT "sort/1"
typedef struct ferry_sort_attr {
  uint32_t size;
  uint32_t axis;
  uint32_t descending;
  uint32_t reserved;
} ferry_sort_attr;

/* scan/1: out[.., i, ..] = the sum or product of in[0] at 0..i along dimension
 * `axis`. One shape. A floating in[0] has out's dtype; of others out is i64, and
 * wraps. Sums and products of f16 and bf16 accumulate in f32 or wider. */
#define FERRY_FAMILY_SCAN "scan/1"
enum { FERRY_SCAN_SUM = 0, FERRY_SCAN_PROD = 1 };
typedef struct ferry_scan_attr {
  uint32_t size;
  uint32_t op;
  uint32_t axis;
  uint32_t reserved;
} ferry_scan_attr;

/* attention/1: out[0] [B, H, L, V] = softmax(scale * query key^T + mask) value,
 * along the last dimension of the scores [L, S]; in[0] = query [B, H, L, E],
 * in[1] = key [B, G, S, E], in[2] = value [B, G, S, V]. G divides H: head h has
 * the key and value h / (H / G). Four dimensions each, one floating dtype; f16
 * and bf16 compute in f32 and are rounded once, as the output. Flags: MASK: in[3]
 * = mask [b, h, l, S], each of b, h, l being 1, which stands for all, or B, H, L;
 * bool, false where nothing is looked at, or of the query's dtype, added. CAUSAL:
 * row i looks at columns 0..i + causal_offset, of which none or more than S may
 * exist. A score of -inf has weight 0; whether that is multiplied by a value that
 * is not finite is open. A row without any other score is NaN, and so is one with
 * a NaN among its scores. */
#define FERRY_FAMILY_ATTENTION "attention/1"
enum { FERRY_ATTENTION_MASK = 1u << 0, FERRY_ATTENTION_CAUSAL = 1u << 1 };
typedef struct ferry_attention_attr {
  uint32_t size;
  uint32_t flags; /* FERRY_ATTENTION_ */
  int64_t causal_offset;
  double scale;
} ferry_attention_attr;

/* rope/1: turns pairs of the last dimension: a, b become a c - b s, b c + a s. in[0]
 * = x [B, H, L, D], in[1] = cosines, in[2] = sines [b, L, R / 2], b being 1, which
 * stands for all, or B; out[0] has x's shape and dtype, which is floating. c and s
 * are f32, or f64 where x is; f16 and bf16 compute in f32. Pair k, 0 <= k < R / 2, is
 * elements k and k + R / 2, with FERRY_ROPE_INTERLEAVED 2 k and 2 k + 1; elements
 * from R on, R <= D, are copied. */
#define FERRY_FAMILY_ROPE "rope/1"
enum { FERRY_ROPE_INTERLEAVED = 1u << 0 };
typedef struct ferry_rope_attr {
  uint32_t size;
  uint32_t flags; /* FERRY_ROPE_ */
} ferry_rope_attr;

#ifdef __cplusplus
}
#endif

#endif /* FERRY_ABI_KERNEL_H */
