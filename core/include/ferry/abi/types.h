/* SPDX-License-Identifier: Apache-2.0
 *
 * The plain values that cross the plugin boundary: return codes, dtypes,
 * memory handles and tensors. C only; needs nothing else.
 *
 * Layout rule of the whole ABI: a struct that begins with `size` is append
 * only, and a reader uses a member only when the writer's size covers it
 * (FERRY_HAS). A struct without `size` is frozen for ever.
 */
#ifndef FERRY_ABI_TYPES_H
#define FERRY_ABI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FERRY_ABI_MAJOR 1u
#define FERRY_ABI_MINOR 0u

/* Tensors have at most this many dimensions. */
#define FERRY_MAX_DIMS 8

/* True when the table at `p` is present and its writer knew member `f`. */
#define FERRY_HAS(p, f)                                                 \
  ((p) != NULL &&                                                       \
   (uint64_t)(p)->size >=                                               \
       (uint64_t)((const char*)&(p)->f - (const char*)(p)) + sizeof((p)->f))

/* Result of a call. Zero is success, a positive value is "not me" and no
 * error, a negative value is an error whose text went to ferry_host::fail. */
typedef int32_t ferry_rc;
enum {
  FERRY_OK = 0,
  FERRY_DECLINED = 1,  /* this kernel or plugin does not take this call */
  FERRY_NOT_READY = 2, /* an event that has not happened yet */
  FERRY_E_ARG = -1,    /* invalid argument */
  FERRY_E_OOM = -2,    /* out of memory; the device goes on */
  FERRY_E_DEVICE = -3, /* the device or its driver failed this call */
  FERRY_E_LOST = -4,   /* the device is lost; every later call fails */
  FERRY_E_MISSING = -5, /* the function is absent from this plugin */
  FERRY_E_ABI = -6,     /* incompatible versions */
  FERRY_E_OTHER = -99
};

/* Element types. Numbers are frozen; new ones are appended. `bool` is one
 * byte, 0 or 1. f16 is IEEE binary16, bf16 the upper half of binary32. */
typedef uint32_t ferry_dtype;
enum {
  FERRY_BOOL = 0,
  FERRY_U8 = 1,
  FERRY_I8 = 2,
  FERRY_I16 = 3,
  FERRY_I32 = 4,
  FERRY_I64 = 5,
  FERRY_F16 = 6,
  FERRY_BF16 = 7,
  FERRY_F32 = 8,
  FERRY_F64 = 9
};
/* Bit of a dtype in a mask of dtypes. */
#define FERRY_DTYPE_BIT(dtype) (UINT64_C(1) << (dtype))

/* Opaque objects of the plugin. A null stream means: synchronous, after all
 * earlier work of the device. */
typedef struct ferry_device_s* ferry_device;
typedef struct ferry_stream_s* ferry_stream;
typedef struct ferry_event_s* ferry_event;

/* A block of memory, named by the plugin. It is an address only when the
 * device says so (FERRY_CAP_HANDLE_IS_ADDRESS). Zero is no memory. */
typedef struct ferry_memory {
  uint64_t handle;
} ferry_memory;

/* A place inside a block; `offset` in bytes. */
typedef struct ferry_location {
  ferry_memory memory;
  uint64_t offset;
} ferry_location;

/* A strided view: `shape` and `stride` in elements, `at` the first element.
 * Strides are never negative; a stride of 0 repeats. No dimension is empty:
 * the host settles tensors without elements itself. */
typedef struct ferry_tensor {
  ferry_location at;
  ferry_dtype dtype;
  uint32_t ndim;
  int64_t shape[FERRY_MAX_DIMS];
  int64_t stride[FERRY_MAX_DIMS];
} ferry_tensor;

#ifdef __cplusplus
}
#endif

#endif /* FERRY_ABI_TYPES_H */
