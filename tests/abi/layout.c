/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of the ABI as a C compiler sees it, and the names of the families,
 * which are strings and no constants.
 */
#include "layout.h"

#include <stdio.h>
#include <string.h>

static int differs(const char* name, const char* is, const char* frozen) {
  if (strcmp(is, frozen) == 0) return 0;
  fprintf(stderr, "%s is \"%s\", frozen as \"%s\"\n", name, is, frozen);
  return 1;
}

int main(void) {
  const int bad = differs("FERRY_FAMILY_MAP", FERRY_FAMILY_MAP, "map/1") +
                  differs("FERRY_FAMILY_REDUCE", FERRY_FAMILY_REDUCE, "reduce/1") +
                  differs("FERRY_FAMILY_MATMUL", FERRY_FAMILY_MATMUL, "matmul/1") +
                  differs("FERRY_FAMILY_CONV", FERRY_FAMILY_CONV, "conv/1") +
                  differs("FERRY_FAMILY_POOL", FERRY_FAMILY_POOL, "pool/1") +
                  differs("FERRY_FAMILY_GATHER", FERRY_FAMILY_GATHER, "gather/1") +
                  differs("FERRY_FAMILY_SOFTMAX", FERRY_FAMILY_SOFTMAX, "softmax/1") +
                  differs("FERRY_FAMILY_LAYER_NORM", FERRY_FAMILY_LAYER_NORM, "layer_norm/1") +
                  differs("FERRY_FAMILY_SCATTER", FERRY_FAMILY_SCATTER, "scatter/1") +
                  differs("FERRY_FAMILY_SORT", FERRY_FAMILY_SORT, "sort/1") +
                  differs("FERRY_FAMILY_SCAN", FERRY_FAMILY_SCAN, "scan/1") +
                  differs("FERRY_FAMILY_ATTENTION", FERRY_FAMILY_ATTENTION, "attention/1") +
                  differs("FERRY_FAMILY_ROPE", FERRY_FAMILY_ROPE, "rope/1") +
                  differs("FERRY_PLUGIN_SYMBOL", FERRY_PLUGIN_SYMBOL, "ferry_plugin_v1");
  printf("the layout is that of ABI 1: it was compared while this was compiled\n");
  return bad;
}
