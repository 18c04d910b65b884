/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the headers with layout.inc while it is compiled, as C11 and as
 * C++20: both languages must agree on every byte.
 */
#ifndef FERRY_TESTS_ABI_LAYOUT_H
#define FERRY_TESTS_ABI_LAYOUT_H

#include "ferry/abi/plugin.h"

#ifdef __cplusplus
#define LAYOUT_ASSERT(condition, text) static_assert(condition, text)
#define LAYOUT_ALIGN(type) alignof(type)
#else
#define LAYOUT_ASSERT(condition, text) _Static_assert(condition, text)
#define LAYOUT_ALIGN(type) _Alignof(type)
#endif

#define LAYOUT_TYPE(type, bytes, alignment)                          \
  LAYOUT_ASSERT(sizeof(type) == (bytes), #type " has another size"); \
  LAYOUT_ASSERT(LAYOUT_ALIGN(type) == (alignment), #type " has another alignment");
#define LAYOUT_MEMBER(type, member, offset, bytes)                                \
  LAYOUT_ASSERT(offsetof(type, member) == (offset), #type "::" #member " moved"); \
  LAYOUT_ASSERT(sizeof(((type*)0)->member) == (bytes), #type "::" #member " has another size");
#define LAYOUT_VALUE(name, value) LAYOUT_ASSERT(name == (value), #name " has another value");

#include "layout.inc"

LAYOUT_ASSERT(FERRY_ABI_MAJOR == 1, "another major needs a layout of its own");
LAYOUT_ASSERT(FERRY_PLUGIN_MAGIC == 0x59525246u, "the magic number changed");
LAYOUT_ASSERT(FERRY_MAX_DIMS == 8, "ferry_tensor is used in arrays");
/* Types without a name of their own. */
LAYOUT_ASSERT(sizeof(ferry_rc) == 4 && (ferry_rc)-1 < 0, "ferry_rc is a signed 32-bit number");
LAYOUT_ASSERT(sizeof(ferry_dtype) == 4, "ferry_dtype is a 32-bit number");
LAYOUT_ASSERT(sizeof(ferry_device) == 8 && sizeof(ferry_stream) == 8 && sizeof(ferry_event) == 8,
              "devices, streams and events are pointers");

#endif /* FERRY_TESTS_ABI_LAYOUT_H */
