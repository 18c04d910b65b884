/* SPDX-License-Identifier: Apache-2.0
 *
 * What the C plugin of these tests offers under names of its own, as a vendor
 * would publish it beside the plugin.
 */
#ifndef FERRY_TESTS_ABI_PLUGIN_H
#define FERRY_TESTS_ABI_PLUGIN_H

#include <stdint.h>

/* Extension: what the plugin saw and did. */
#define ACME_EXTENSION_GRAPH "acme.graph/2"
typedef struct acme_graph {
  uint32_t size;
  uint32_t reserved;
  /* Mask of the structs of the host in which the plugin found `later`. */
  uint32_t (*saw_later)(void);
  /* Calls of `fill` that were done. */
  uint32_t (*fills)(void);
  /* Calls of the kernel with the family `family`. */
  uint32_t (*launches)(const char* family);
} acme_graph;

enum {
  ACME_SAW_HOST = 1u << 0,
  ACME_SAW_API = 1u << 1,
  ACME_SAW_INFO = 1u << 2,
  ACME_SAW_CALL = 1u << 3
};

/* Family: out = alpha * x + y in f32; in = x, y. */
#define ACME_FAMILY_AXPY "acme.axpy/1"
typedef struct acme_axpy {
  uint32_t size;
  float alpha;
} acme_axpy;

/* Family: out[i] = x[n - 1 - i] over the whole tensor, any strides, f32. */
#define ACME_FAMILY_REVERSE "acme.reverse/1"

#endif /* FERRY_TESTS_ABI_PLUGIN_H */
