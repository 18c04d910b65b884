// SPDX-License-Identifier: Apache-2.0
//
// Turns a failed hal::Status into the exception of its kind.
#include "runtime/status.h"

#include <string>

#include "ferry/error.h"
#include "runtime/host_services.h"

namespace ferry::runtime {

void throw_status(hal::Status status, const char* where) {
  std::string text = take_failure();
  if (text.empty()) text = "the plugin gave no reason (code " + std::to_string(status.code()) + ")";
  switch (status.code()) {
    case FERRY_E_ARG:
      throw InvalidArgument(where, text);
    case FERRY_E_OOM:
      throw OutOfMemoryError("[" + std::string(where) + "] " + text, 0, 0, 0, 0, 0);
    case FERRY_E_DEVICE:
      throw DeviceError(where, text);
    case FERRY_E_LOST:
      throw DeviceLostError(where, text);
    case FERRY_E_MISSING:
      throw UnsupportedError(where, text);
    case FERRY_E_ABI:
      throw IncompatibleError(where, text);
    default:
      throw InternalError(where, text);
  }
}

}  // namespace ferry::runtime
