// SPDX-License-Identifier: Apache-2.0
//
// First include of a file that is compiled once for each instruction set.
//
// Inline functions of shared headers would be merged by the linker, and the
// copy it keeps might be the one with instructions that the processor lacks.
// So the SDK's namespace gets another name in each of these files, and what the
// loops call is always inlined or local; tests/checks/isa_symbols.sh looks.
#ifndef FERRY_CPU_ISA_ISA_TEXT_H
#define FERRY_CPU_ISA_ISA_TEXT_H

#if !defined(FERRY_CPU_ISA)
#error "FERRY_CPU_ISA names the instruction set"
#endif

#define FERRY_CPU_JOIN_(a, b) a##b
#define FERRY_CPU_JOIN(a, b) FERRY_CPU_JOIN_(a, b)
#define sdk FERRY_CPU_JOIN(sdk_, FERRY_CPU_ISA)

// Iterations are independent even where the compiler cannot see it: an output
// is exactly an input or apart from it.
#if defined(__clang__)
#define FERRY_CPU_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define FERRY_CPU_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif  // FERRY_CPU_ISA_ISA_TEXT_H
