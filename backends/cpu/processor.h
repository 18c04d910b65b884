// SPDX-License-Identifier: Apache-2.0
//
// What the system says of the processor and its memory.
#ifndef FERRY_CPU_PROCESSOR_H
#define FERRY_CPU_PROCESSOR_H

#include <cstdint>
#include <string>

namespace ferry::cpu {

/// Processors that this process may keep busy: its affinity mask, less where a
/// cgroup's quota allows less. At least 1.
int usable_processors();

/// "AMD EPYC 9654 96-Core Processor", or the machine's architecture.
std::string processor_name();
std::string processor_vendor();

/// Bytes of main memory that this process may use, and those free now; a
/// cgroup's limit counts.
uint64_t memory_total();
uint64_t memory_free();

}  // namespace ferry::cpu

#endif  // FERRY_CPU_PROCESSOR_H
