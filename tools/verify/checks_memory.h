// SPDX-License-Identifier: Apache-2.0
//
// The two halves of level memory.
#ifndef FERRY_TOOLS_VERIFY_CHECKS_MEMORY_H
#define FERRY_TOOLS_VERIFY_CHECKS_MEMORY_H

#include <vector>

#include "check.h"

namespace ferry::verify {

/// Opening often, running out, recovering, and leaks.
std::vector<Check> memory_life_checks();

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_CHECKS_MEMORY_H
