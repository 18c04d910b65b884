// SPDX-License-Identifier: Apache-2.0
//
// Reads FERRY_LAYERS and makes the layers of this process.
#ifndef FERRY_RUNTIME_LAYERS_START_H
#define FERRY_RUNTIME_LAYERS_START_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/layers/layer.h"

namespace ferry::runtime::layers {

/// The words of "validate,trace", each once, in the order in which the layers
/// see a call. InvalidArgument for one that is no layer.
std::vector<std::string> parse(std::string_view list);

/// Called once a process, before the first device is opened, with the value of
/// FERRY_LAYERS. Empty where nothing is asked for, and then nothing is started.
/// InvalidArgument for an unknown word, and for a trace file that cannot be made.
const Stack& start(const std::optional<std::string>& list);

}  // namespace ferry::runtime::layers

#endif  // FERRY_RUNTIME_LAYERS_START_H
