// SPDX-License-Identifier: Apache-2.0
//
// Where the objects of each instruction set put their functions.
#ifndef FERRY_CPU_ISA_FILL_TABLES_H
#define FERRY_CPU_ISA_FILL_TABLES_H

#include "isa.h"

#define FERRY_CPU_DECLARE_ISA(name)       \
  namespace ferry::cpu::name {            \
  void fill_map_loops(Loops& loops);      \
  void fill_reduce_loops(Loops& loops);   \
  void fill_row_loops(Loops& loops);      \
  inline void fill_tables(Loops& loops) { \
    fill_map_loops(loops);                \
    fill_reduce_loops(loops);             \
    fill_row_loops(loops);                \
  }                                       \
  }
FERRY_CPU_DECLARE_ISA(baseline)
FERRY_CPU_DECLARE_ISA(avx2)
FERRY_CPU_DECLARE_ISA(avx512)
#undef FERRY_CPU_DECLARE_ISA

#endif  // FERRY_CPU_ISA_FILL_TABLES_H
