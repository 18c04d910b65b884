/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two sources of the C plugin share.
 */
#ifndef FERRY_TESTS_ABI_PLUGIN_PARTS_H
#define FERRY_TESTS_ABI_PLUGIN_PARTS_H

#include "ferry/abi/plugin.h"
#include "plugin.h"

#ifdef TEST_NEWER_HEADERS
/* A host of today that took one of these for a function would crash. */
#define LATER , .later = {1, 2, 3}
#else
#define LATER
#endif

enum { ACME_KERNELS = 3 };

extern const ferry_host* acme_host;
extern const ferry_kernel acme_kernels[ACME_KERNELS];

/* Of the structs of the host with `later`: ACME_SAW_. */
extern uint32_t acme_saw;
uint32_t acme_launches(const char* family);

static inline char* acme_address(ferry_location at) {
  return (char*)(uintptr_t)(at.memory.handle + at.offset);
}
static inline void acme_count(uint32_t* counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

#endif /* FERRY_TESTS_ABI_PLUGIN_PARTS_H */
