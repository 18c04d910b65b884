// SPDX-License-Identifier: Apache-2.0
//
// Turns a failed hal::Status into the exception of its kind.
#ifndef FERRY_RUNTIME_STATUS_H
#define FERRY_RUNTIME_STATUS_H

#include "ferry/hal/status.h"

namespace ferry::runtime {

/// Throws for `code` < 0, with the text that the plugin left for this thread.
[[noreturn]] void throw_status(hal::Status status, const char* where);

/// Throws where `status` is a failure. `where` names the operation.
inline void check(hal::Status status, const char* where) {
  if (status.failed()) throw_status(status, where);
}

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_STATUS_H
