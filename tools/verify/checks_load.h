// SPDX-License-Identifier: Apache-2.0
//
// The two halves of level load.
#ifndef FERRY_TOOLS_VERIFY_CHECKS_LOAD_H
#define FERRY_TOOLS_VERIFY_CHECKS_LOAD_H

#include <vector>

#include "check.h"

namespace ferry::verify {

/// What probe, init, count, info and open do and leave undone.
std::vector<Check> load_behaviour_checks();

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_CHECKS_LOAD_H
