// SPDX-License-Identifier: Apache-2.0
//
// Opens a plugin's library and puts the system loader's words into verdicts.
#ifndef FERRY_RUNTIME_OPEN_LIBRARY_H
#define FERRY_RUNTIME_OPEN_LIBRARY_H

#include <optional>
#include <string>

#include "ferry/abi/plugin.h"
#include "runtime/verdict.h"

namespace ferry::runtime {

/// The descriptor of a plugin's library, or why there is none.
struct OpenedLibrary {
  const ferry_plugin_desc* desc = nullptr;
  std::optional<Verdict> refused;
};

/// Opens `file` with local symbols and immediate binding, and never unloads it.
OpenedLibrary open_library(const std::string& file);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_OPEN_LIBRARY_H
