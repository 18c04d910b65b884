// SPDX-License-Identifier: Apache-2.0
//
// The grammar of device names, and which device a name or FERRY_DEVICE means.
#ifndef FERRY_RUNTIME_SELECTION_H
#define FERRY_RUNTIME_SELECTION_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/device.h"

namespace ferry::runtime {

/// A device name that has the right form.
struct DeviceTerm {
  std::string backend;
  int64_t index = 0;  ///< saturated, where the number is absurd
};

/// Parses "name" or "name:index"; InvalidArgument with `where` otherwise.
/// Loads nothing.
DeviceTerm parse_term(std::string_view text, const char* where);

/// The device that the term means here; UnavailableError with `where` and the
/// reasons otherwise.
Device resolve(const DeviceTerm& term, const char* where);

/// The accelerator that "gpu" means: discrete ones before others, simulated
/// ones last, then in the order of backends, then by the plugin's priority.
std::optional<Device> first_accelerator();
/// Whether `kind` (FERRY_KIND_) is something that "gpu" may mean.
bool is_accelerator(uint32_t kind) noexcept;

/// How many pieces of hardware "gpu" may mean, each once.
int count_accelerators();

/// The device of FERRY_DEVICE; see ferry::default_device().
Device choose_default_device();

/// The one of `words` that `word` is probably meant to be, or empty.
std::string nearest_word(std::string_view word, const std::vector<std::string>& words);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_SELECTION_H
