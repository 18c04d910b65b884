/* SPDX-License-Identifier: Apache-2.0
 *
 * Map programs: an element-wise computation as data, so that one kernel of a
 * device runs every element-wise op and every fused chain of them.
 */
#ifndef FERRY_ABI_PROGRAM_H
#define FERRY_ABI_PROGRAM_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of the scalar ops, FERRY_OP_ADD and so on, from scalar_ops.def. A
 * code keeps its meaning for ever. A kernel that meets a code it does not
 * know answers FERRY_DECLINED in its check. */
enum {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) FERRY_OP_##upper = code,
#include "scalar_ops.def"
#undef FERRY_SCALAR_OP
  FERRY_OP_END_ = 0xffff
};

/* One step: the result of scalar op `op` on registers `arg[0..arity)` becomes
 * the next register. `reserved` members are 0. Frozen: used in arrays. */
typedef struct ferry_insn {
  uint16_t op;
  uint16_t reserved0;
  uint16_t arg[4];
  uint32_t reserved1;
} ferry_insn;

/* A constant register: `f` where the compute type is f32 or f64, else `i`. */
typedef union ferry_constant {
  double f;
  int64_t i;
} ferry_constant;

/* A program over one element. Registers are numbered: first the `n_in` inputs,
 * each converted from its tensor's dtype to `compute`; then the `n_const`
 * constants; then one for each instruction, in order. An instruction reads
 * only registers before its own. Output k stores register out[k], converted
 * from `compute` to the output tensor's dtype.
 *
 * `compute` is f32, f64, i32 or i64: halves compute in f32; bool and integers
 * up to 32 bits in i32, where arithmetic wraps. Comparisons and logic give 0
 * or 1 in the compute type.
 *
 * Conversions: float to integer truncates; what fits i64 then wraps to the
 * width, what does not saturates at the width's bounds, NaN becomes 0. To
 * bool: 1 where the value is not 0 (NaN is 1). To f16 and bf16: round to
 * nearest even. */
typedef struct ferry_program {
  uint32_t size;
  ferry_dtype compute;
  uint32_t n_in, n_const, n_insn, n_out;
  const ferry_constant* constants;
  const ferry_insn* insns;
  const uint16_t* out;
} ferry_program;

#ifdef __cplusplus
}
#endif

#endif /* FERRY_ABI_PROGRAM_H */
