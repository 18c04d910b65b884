// SPDX-License-Identifier: Apache-2.0
//
// Chooses the best instruction set that the processor has.
#include "isa.h"

#if defined(FERRY_CPU_X86)
#include <cpuid.h>
#endif

#include <cstring>
#include <string>

#include "ferry/sdk/plugin.h"
#include "isa/fill_tables.h"

namespace ferry::cpu {
namespace {

struct Set {
  const char* name;
  bool usable;
  void (*fill)(Loops&);
};

#if defined(FERRY_CPU_X86)
/// By CPUID itself: Clang's builtin does not know this one.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Loops choose() {
#if defined(FERRY_CPU_X86)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
#endif
  const Set sets[] = {
#if defined(FERRY_CPU_X86)
    {"avx512", avx512, [](Loops& t) { avx512::fill_tables(t); }},
    {"avx2", avx2, [](Loops& t) { avx2::fill_tables(t); }},
#endif
    {"baseline", true, [](Loops& t) { baseline::fill_tables(t); }},
  };
  const char* wanted = sdk::option("isa");
  bool known = wanted == nullptr;
  for (const Set& set : sets) known = known || std::strcmp(wanted, set.name) == 0;
  if (!known) {
    const std::string line = "FERRY_CPU_ISA='" + std::string(wanted) +
                             "' is not one of avx512, avx2, baseline: the best one is used";
    sdk::log(FERRY_LOG_WARN, line.c_str());
    wanted = nullptr;
  }
  Loops table{};
  for (const Set& set : sets) {
    if (!set.usable) continue;
    if (wanted != nullptr && std::strcmp(wanted, set.name) != 0) continue;
    table.name = set.name;
    set.fill(table);
    return table;
  }
  table.name = "baseline";
  baseline::fill_tables(table);
  return table;
}

}  // namespace

const Loops& loops() {
  static const Loops table = choose();
  return table;
}

}  // namespace ferry::cpu
