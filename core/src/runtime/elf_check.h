// SPDX-License-Identifier: Apache-2.0
//
// Looks at a library file before the system's loader maps it: a truncated one
// would kill the process with SIGBUS, and the loader's words for a foreign one
// name neither architecture.
#ifndef FERRY_RUNTIME_ELF_CHECK_H
#define FERRY_RUNTIME_ELF_CHECK_H

#include <optional>
#include <string>

#include "runtime/verdict.h"

namespace ferry::runtime {

/// Why the regular file at `path` cannot be loaded into this process, or
/// nothing where its headers are in order. Reads the headers only.
std::optional<Verdict> check_elf(const std::string& path);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_ELF_CHECK_H
