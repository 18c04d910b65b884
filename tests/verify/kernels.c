/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the test plugin: map/1 for a few ops of f32 and i32, and sums of
 * f32 by reduce/1. What else is asked, `check` declines.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plugin.h"

enum { kMaxIn = 4, kMaxOut = 2, kMaxConst = 4, kMaxInsn = 16, kElement = 4 };

typedef union value {
  float f;
  int32_t i;
} value;

struct operand {
  char* data;
  int64_t stride[FERRY_MAX_DIMS];
};

/* A launch with all that it needs later. `shape` is that of in[0]. */
struct job {
  uint32_t ndim, n_in, n_out;
  int64_t shape[FERRY_MAX_DIMS], numel;
  struct operand in[kMaxIn], out[kMaxOut];
  bool floating;
  uint32_t n_const, n_insn;
  value constants[kMaxConst];
  ferry_insn insns[kMaxInsn];
  uint16_t result[kMaxOut];
  int64_t sums; /* results, and their totals on the way */
  double* totals;
};

static int64_t numel_of(const ferry_tensor* tensor) {
  int64_t n = 1;
  for (uint32_t d = 0; d < tensor->ndim; ++d) n *= tensor->shape[d];
  return n;
}

/* Finds the bytes of a tensor; false after a text. */
static bool resolve(ferry_device device, const ferry_tensor* tensor, struct operand* operand) {
  int64_t last = 0;
  for (uint32_t d = 0; d < tensor->ndim; ++d) {
    operand->stride[d] = tensor->stride[d];
    last += (tensor->shape[d] - 1) * tensor->stride[d];
  }
  operand->data = bytes_at(device, tensor->at, (uint64_t)(last + 1) * kElement, "launch");
  return operand->data != NULL;
}

static ferry_rc new_job(const ferry_call* call, struct job** result) {
  struct job* job = calloc(1, sizeof *job);
  if (job == NULL) return host->fail(FERRY_E_OOM, "launch", "malloc found no room");
  job->ndim = call->in[0].ndim;
  memcpy(job->shape, call->in[0].shape, sizeof job->shape);
  job->numel = numel_of(&call->in[0]);
  job->n_in = call->n_in;
  job->n_out = call->n_out;
  bool found = true;
  for (uint32_t k = 0; found && k < call->n_in; ++k) {
    found = resolve(call->device, &call->in[k], &job->in[k]);
  }
  for (uint32_t k = 0; found && k < call->n_out; ++k) {
    found = resolve(call->device, &call->out[k], &job->out[k]);
  }
  if (!found) {
    free(job);
    return FERRY_E_ARG; /* bytes_at said why */
  }
  *result = job;
  return FERRY_OK;
}

static ferry_rc submit_job(const ferry_call* call, void (*run)(void*), struct job* job) {
  const ferry_rc code = submit(call->device, call->stream, run, job);
  if (code != FERRY_OK) {
    free(job->totals);
    free(job);
  }
  return code;
}

/* The place of row-major element `index`. */
static value* element(const struct job* job, const struct operand* operand, int64_t index) {
  int64_t offset = 0;
  for (uint32_t d = job->ndim; d-- > 0;) {
    offset += index % job->shape[d] * operand->stride[d];
    index /= job->shape[d];
  }
  return (value*)(void*)operand->data + offset;
}

/* Tensors that both kernels take: not too many dimensions, and not empty. */
static bool is_small(const ferry_call* call) {
  if (call->n_in == 0 || call->n_in > kMaxIn || call->n_out == 0 || call->n_out > kMaxOut) {
    return false;
  }
  for (uint32_t k = 0; k < call->n_in + call->n_out; ++k) {
    const ferry_tensor* tensor = k < call->n_in ? &call->in[k] : &call->out[k - call->n_in];
    if (tensor->ndim > FERRY_MAX_DIMS) return false;
    if (numel_of(tensor) == 0) return false;
  }
  return true;
}

/* map/1 */

static int arity_of(uint16_t op) {
  switch (op) {
    case FERRY_OP_COPY:
    case FERRY_OP_NEG:
    case FERRY_OP_ABS:
    case FERRY_OP_RELU:
    case FERRY_OP_SQUARE:
      return 1;
    case FERRY_OP_ADD:
    case FERRY_OP_SUB:
    case FERRY_OP_MUL:
    case FERRY_OP_MAXIMUM:
    case FERRY_OP_MINIMUM:
      return 2;
    default:
      return 0;
  }
}

static float float_step(uint16_t op, float a, float b) {
  const bool a_wins = BAD != BAD_MAP_NAN && a != a; /* NaN is handed on */
  switch (op) {
    case FERRY_OP_NEG:
      return -a;
    case FERRY_OP_ABS:
      return fabsf(a);
    case FERRY_OP_RELU:
      return a < 0 ? 0 : a;
    case FERRY_OP_SQUARE:
      return a * a;
    case FERRY_OP_ADD:
      return a + b;
    case FERRY_OP_SUB:
      return a - b;
    case FERRY_OP_MUL:
      return a * b;
    case FERRY_OP_MAXIMUM:
      return a_wins || a > b ? a : b;
    case FERRY_OP_MINIMUM:
      return a_wins || a < b ? a : b;
    default:
      return a;
  }
}

/* Through unsigned, where arithmetic wraps. */
static int32_t integer_step(uint16_t op, int32_t a, int32_t b) {
  const uint32_t x = (uint32_t)a, y = (uint32_t)b;
  switch (op) {
    case FERRY_OP_NEG:
      return (int32_t)(0 - x);
    case FERRY_OP_ABS:
      return a < 0 ? (int32_t)(0 - x) : a;
    case FERRY_OP_RELU:
      return a < 0 ? 0 : a;
    case FERRY_OP_SQUARE:
      return (int32_t)(x * x);
    case FERRY_OP_ADD:
      return (int32_t)(x + y);
    case FERRY_OP_SUB:
      return (int32_t)(x - y);
    case FERRY_OP_MUL:
      return (int32_t)(x * y);
    case FERRY_OP_MAXIMUM:
      return a > b ? a : b;
    case FERRY_OP_MINIMUM:
      return a < b ? a : b;
    default:
      return a;
  }
}

static void map_element(const struct job* job, int64_t index) {
  value registers[kMaxIn + kMaxConst + kMaxInsn];
  value* next = registers;
  for (uint32_t k = 0; k < job->n_in; ++k) *next++ = *element(job, &job->in[k], index);
  for (uint32_t k = 0; k < job->n_const; ++k) *next++ = job->constants[k];
  for (uint32_t k = 0; k < job->n_insn; ++k) {
    const ferry_insn* insn = &job->insns[k];
    const value a = registers[insn->arg[0]];
    const value b = registers[arity_of(insn->op) == 2 ? insn->arg[1] : insn->arg[0]];
    if (job->floating) {
      next->f = float_step(insn->op, a.f, b.f);
    } else {
      next->i = integer_step(insn->op, a.i, b.i);
    }
    ++next;
  }
  if (BAD == BAD_MAP_INPUT) element(job, &job->in[0], index)->i ^= 1;
  for (uint32_t k = 0; k < job->n_out; ++k) {
    *element(job, &job->out[k], index) = registers[job->result[k]];
  }
}

static void run_map(void* argument) {
  struct job* job = argument;
  for (int64_t i = 0; i < job->numel; ++i) map_element(job, i);
  free(job);
}

static ferry_rc map_check(const ferry_kernel* kernel, const ferry_call* call) {
  (void)kernel;
  if (!is_small(call)) return FERRY_DECLINED;
  const ferry_program* map = call->map;
  if (map == NULL) return FERRY_DECLINED;
  if (map->n_in != call->n_in || map->n_out != call->n_out || map->n_const > kMaxConst ||
      map->n_insn > kMaxInsn) {
    return FERRY_DECLINED;
  }
  /* Nothing is converted. */
  if (map->compute != FERRY_F32 && map->compute != FERRY_I32) return FERRY_DECLINED;
  for (uint32_t k = 0; k < call->n_in; ++k) {
    if (call->in[k].dtype != map->compute) return FERRY_DECLINED;
  }
  for (uint32_t k = 0; k < call->n_out; ++k) {
    if (call->out[k].dtype != map->compute) return FERRY_DECLINED;
  }
  for (uint32_t k = 0; k < map->n_insn; ++k) {
    const bool known = arity_of(map->insns[k].op) != 0;
    /* As of a table that ends before it. */
    if (BAD == BAD_REFUSE_CRASHES && map->insns[k].op > 4096) abort();
    if (!known) return FERRY_DECLINED;
  }
  return FERRY_OK;
}

static bool is_transposed(const ferry_tensor* tensor) {
  int64_t next = 1;
  for (uint32_t d = tensor->ndim; d-- > 0;) {
    if (tensor->shape[d] != 1 && tensor->stride[d] != next) return true;
    next *= tensor->shape[d];
  }
  return false;
}

static ferry_rc map_launch(const ferry_kernel* kernel, const ferry_call* call) {
  const ferry_rc checked = map_check(kernel, call);
  if (checked != FERRY_OK) return checked;
  if (BAD == BAD_CHECK_LIES && numel_of(&call->out[0]) > 4096) {
    return host->fail(FERRY_E_DEVICE, "launch", "these are too many elements");
  }
  struct job* job = NULL;
  const ferry_rc code = new_job(call, &job);
  if (code != FERRY_OK) return code;
  const ferry_program* map = call->map;
  job->floating = map->compute == FERRY_F32;
  job->n_const = map->n_const;
  job->n_insn = map->n_insn;
  for (uint32_t k = 0; k < map->n_const; ++k) {
    if (job->floating) {
      job->constants[k].f = (float)map->constants[k].f;
    } else {
      job->constants[k].i = (int32_t)map->constants[k].i;
    }
  }
  for (uint32_t k = 0; k < map->n_insn; ++k) job->insns[k] = map->insns[k];
  for (uint32_t k = 0; k < map->n_out; ++k) job->result[k] = map->out[k];
  for (uint32_t k = 0; k < job->n_in; ++k) {
    if (BAD == BAD_MAP_OFFSET) job->in[k].data -= call->in[k].at.offset;
    if (BAD != BAD_MAP_STRIDES || !is_transposed(&call->in[k])) continue;
    int64_t next = 1;
    for (uint32_t d = job->ndim; d-- > 0; next *= job->shape[d]) job->in[k].stride[d] = next;
  }
  return submit_job(call, run_map, job);
}

/* reduce/1 */

static void run_sum(void* argument) {
  struct job* job = argument;
  double* sums = job->totals;
  /* The output's strides are 0 along what is reduced: element() gives a place. */
  struct operand* out = &job->out[0];
  for (int64_t i = 0; i < job->numel; ++i) {
    /* The last of an odd number, where there are many. */
    if (BAD == BAD_SUM_ODD && i > 4095 && i == job->numel - 1 && i % 2 == 0) break;
    const int64_t place = (char*)element(job, out, i) - out->data;
    sums[place / kElement] += element(job, &job->in[0], i)->f;
  }
  /* A place is written as often as it has elements; the value is the same. */
  for (int64_t i = 0; i < job->numel; ++i) {
    value* to = element(job, out, i);
    to->f = (float)sums[((char*)to - out->data) / kElement];
  }
  static unsigned launches = 0;
  value* first = (value*)(void*)out->data;
  if (BAD == BAD_SUM_RANDOM && job->numel > 100 && ++launches % 2 == 0) {
    first->f = nextafterf(first->f, INFINITY);
  }
  if (BAD == BAD_SUM_TOO_LONG) first[job->sums].f = 0;
  free(sums);
  free(job);
}

static ferry_rc sum_check(const ferry_kernel* kernel, const ferry_call* call) {
  (void)kernel;
  if (!is_small(call)) return FERRY_DECLINED;
  const ferry_reduce_attr* attr = call->attr;
  const bool takes = attr != NULL && attr->op == FERRY_REDUCE_SUM && call->map == NULL &&
                     call->n_in == 1 && call->n_out == 1 && call->in[0].dtype == FERRY_F32 &&
                     call->out[0].dtype == FERRY_F32;
  return takes ? FERRY_OK : FERRY_DECLINED;
}

static ferry_rc sum_launch(const ferry_kernel* kernel, const ferry_call* call) {
  const ferry_rc checked = sum_check(kernel, call);
  if (checked != FERRY_OK) return checked;
  struct job* job = NULL;
  const ferry_rc code = new_job(call, &job);
  if (code != FERRY_OK) return code;
  const ferry_reduce_attr* attr = call->attr;
  job->sums = 1;
  for (uint32_t d = 0; d < job->ndim; ++d) {
    if ((attr->axes >> d & 1) != 0) {
      job->out[0].stride[d] = 0;
    } else {
      job->sums += (job->shape[d] - 1) * job->out[0].stride[d];
    }
  }
  job->totals = calloc((size_t)job->sums, sizeof *job->totals);
  if (job->totals == NULL) {
    free(job);
    return host->fail(FERRY_E_OOM, "launch", "malloc found no room");
  }
  return submit_job(call, run_sum, job);
}

const ferry_kernel kernels[kKernels] = {
    {sizeof(ferry_kernel), FERRY_KERNEL_STRIDED | FERRY_KERNEL_INPLACE | FERRY_KERNEL_DETERMINISTIC,
     BAD == BAD_FAMILY_WITHOUT_REVISION ? "map" : FERRY_FAMILY_MAP,
     FERRY_DTYPE_BIT(FERRY_F32) | FERRY_DTYPE_BIT(FERRY_I32), NULL, map_check, NULL, map_launch},
    {sizeof(ferry_kernel), FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC, FERRY_FAMILY_REDUCE,
     FERRY_DTYPE_BIT(FERRY_F32), NULL, sum_check, NULL, sum_launch}};
