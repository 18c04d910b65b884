// SPDX-License-Identifier: Apache-2.0
//
// The variables that decide about devices, as they were when the plugins were
// loaded: they are read once, so that all answers of a process agree.
#ifndef FERRY_RUNTIME_ENVIRONMENT_H
#define FERRY_RUNTIME_ENVIRONMENT_H

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace ferry::runtime {

/// Reads a variable; absent in a process with raised privileges.
std::optional<std::string> environment_variable(const char* name);

class Environment {
 public:
  enum Variable : size_t { kDevice, kVisibleDevices, kPluginPath, kLayers, kVariables };

  /// Reads them now.
  Environment();

  /// The value then; empty optional where it was not set.
  const std::optional<std::string>& operator[](Variable variable) const {
    return values_[variable];
  }
  /// Where anyone listens to warnings, warns once for each variable that has
  /// another value now. Costs next to nothing where nobody does.
  void warn_of_changes() const;

 private:
  std::array<std::optional<std::string>, kVariables> values_;
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_ENVIRONMENT_H
