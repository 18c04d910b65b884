// SPDX-License-Identifier: Apache-2.0
//
// Status: how hal functions report failure on both sides of the boundary
// without throwing.
#ifndef FERRY_HAL_STATUS_H
#define FERRY_HAL_STATUS_H

#include "ferry/abi/plugin.h"

namespace ferry::hal {

/// Result of a hal function: a ferry_rc. The text of a failure is not in it
/// but with the host, for the calling thread, until its next failing call.
class [[nodiscard]] Status {
 public:
  constexpr Status() noexcept = default;
  constexpr explicit Status(ferry_rc code) noexcept : code_(code) {}

  constexpr ferry_rc code() const noexcept { return code_; }
  constexpr bool ok() const noexcept { return code_ == FERRY_OK; }
  constexpr bool failed() const noexcept { return code_ < 0; }

 private:
  ferry_rc code_ = FERRY_OK;
};

/// Where fail() sends its texts; set once, by the SDK in a plugin and by the
/// runtime in the host. One for each library, since it has hidden visibility.
using FailFunction = ferry_rc (*)(ferry_rc code, const char* where, const char* text);
inline FailFunction& fail_function() noexcept {
  static FailFunction function = nullptr;
  return function;
}

/// Reports a failure and returns it: `return fail(FERRY_E_OOM, "alloc", "...")`.
/// `where` names the operation, `text` says what was wrong with which values.
inline Status fail(ferry_rc code, const char* where, const char* text) noexcept {
  if (fail_function() != nullptr) fail_function()(code, where, text);
  return Status(code);
}

}  // namespace ferry::hal

#endif  // FERRY_HAL_STATUS_H
