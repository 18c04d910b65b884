/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of the C plugin: some element-wise programs, and two families of
 * its own.
 */
#include <string.h>

#include "plugin_parts.h"

static uint32_t map_count, axpy_count, reverse_count;

uint32_t acme_launches(const char* family) {
  if (strcmp(family, FERRY_FAMILY_MAP) == 0) return map_count;
  if (strcmp(family, ACME_FAMILY_AXPY) == 0) return axpy_count;
  if (strcmp(family, ACME_FAMILY_REVERSE) == 0) return reverse_count;
  return 0;
}

static void look_at(const ferry_call* call) {
#ifdef TEST_NEWER_HEADERS
  if (FERRY_HAS(call, later)) __atomic_fetch_or(&acme_saw, ACME_SAW_CALL, __ATOMIC_RELAXED);
#endif
  (void)call;
}

static uint64_t numel(const ferry_tensor* tensor) {
  uint64_t n = 1;
  for (uint32_t d = 0; d < tensor->ndim; ++d) n *= (uint64_t)tensor->shape[d];
  return n;
}

enum { MAX_REGISTERS = 32 };

/* Some programs in f32; the host runs the others on the CPU. */
static ferry_rc map_check(const ferry_kernel* kernel, const ferry_call* call) {
  (void)kernel;
  const ferry_program* map = call->map;
  if (map == NULL || map->compute != FERRY_F32) return FERRY_DECLINED;
  if (map->n_in + map->n_const + map->n_insn > MAX_REGISTERS) return FERRY_DECLINED;
  for (uint32_t i = 0; i < map->n_insn; ++i) {
    const uint16_t op = map->insns[i].op;
    if (op != FERRY_OP_ADD && op != FERRY_OP_MUL && op != FERRY_OP_RELU) return FERRY_DECLINED;
  }
  return FERRY_OK;
}

static ferry_rc map_launch(const ferry_kernel* kernel, const ferry_call* call) {
  (void)kernel;
  look_at(call);
  acme_count(&map_count);
  const ferry_program* map = call->map;
  float r[MAX_REGISTERS];
  const uint64_t n = numel(&call->out[0]);
  for (uint64_t i = 0; i < n; ++i) {
    uint32_t next = 0;
    for (uint32_t k = 0; k < map->n_in; ++k) r[next++] = ((float*)acme_address(call->in[k].at))[i];
    for (uint32_t k = 0; k < map->n_const; ++k) r[next++] = (float)map->constants[k].f;
    for (uint32_t k = 0; k < map->n_insn; ++k) {
      const ferry_insn* insn = &map->insns[k];
      const float a = r[insn->arg[0]];
      const float b = insn->op == FERRY_OP_RELU ? 0 : r[insn->arg[1]];
      r[next++] = insn->op == FERRY_OP_ADD   ? a + b
                  : insn->op == FERRY_OP_MUL ? a * b
                  : a < 0                    ? 0
                                             : a;
    }
    for (uint32_t k = 0; k < map->n_out; ++k) {
      ((float*)acme_address(call->out[k].at))[i] = r[map->out[k]];
    }
  }
  return FERRY_OK;
}

static ferry_rc axpy_check(const ferry_kernel* kernel, const ferry_call* call) {
  (void)kernel;
  if (call->n_in != 2 || call->n_out != 1 || call->attr == NULL) return FERRY_DECLINED;
  const uint64_t n = numel(&call->out[0]);
  return numel(&call->in[0]) == n && numel(&call->in[1]) == n ? FERRY_OK : FERRY_DECLINED;
}
static ferry_rc axpy_launch(const ferry_kernel* kernel, const ferry_call* call) {
  (void)kernel;
  look_at(call);
  acme_count(&axpy_count);
  const acme_axpy* attr = call->attr;
  const float* x = (const float*)acme_address(call->in[0].at);
  const float* y = (const float*)acme_address(call->in[1].at);
  float* out = (float*)acme_address(call->out[0].at);
  const uint64_t n = numel(&call->out[0]);
  for (uint64_t i = 0; i < n; ++i) out[i] = attr->alpha * x[i] + y[i];
  return FERRY_OK;
}

/* Element `i` in row-major order. */
static float* element(const ferry_tensor* tensor, uint64_t i) {
  int64_t at = 0;
  for (uint32_t d = tensor->ndim; d-- > 0;) {
    at += (int64_t)(i % (uint64_t)tensor->shape[d]) * tensor->stride[d];
    i /= (uint64_t)tensor->shape[d];
  }
  return (float*)acme_address(tensor->at) + at;
}
static ferry_rc reverse_launch(const ferry_kernel* kernel, const ferry_call* call) {
  look_at(call);
  acme_count(&reverse_count);
  if (kernel->self != &reverse_count) {
    return acme_host->fail(FERRY_E_OTHER, ACME_FAMILY_REVERSE,
                           "the kernel is not the plugin's own");
  }
  const uint64_t n = numel(&call->out[0]);
  for (uint64_t i = 0; i < n; ++i) *element(&call->out[0], i) = *element(&call->in[0], n - 1 - i);
  return FERRY_OK;
}

#define ONLY_F32 FERRY_DTYPE_BIT(FERRY_F32)
const ferry_kernel acme_kernels[ACME_KERNELS] = {
    {.size = sizeof(ferry_kernel),
     .family = FERRY_FAMILY_MAP,
     .dtypes = ONLY_F32,
     .check = map_check,
     .launch = map_launch LATER},
    {.size = sizeof(ferry_kernel),
     .family = ACME_FAMILY_AXPY,
     .dtypes = ONLY_F32,
     .check = axpy_check,
     .launch = axpy_launch LATER},
    {.size = sizeof(ferry_kernel),
     .flags = FERRY_KERNEL_STRIDED,
     .family = ACME_FAMILY_REVERSE,
     .dtypes = ONLY_F32,
     .self = &reverse_count,
     .launch = reverse_launch LATER},
};
