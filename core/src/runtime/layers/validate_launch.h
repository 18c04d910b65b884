// SPDX-License-Identifier: Apache-2.0
//
// What the validate layer checks of a kernel's call.
#ifndef FERRY_RUNTIME_LAYERS_VALIDATE_LAUNCH_H
#define FERRY_RUNTIME_LAYERS_VALIDATE_LAUNCH_H

#include <string>

#include "runtime/layers/memory_map.h"

namespace ferry::runtime::layers {

/// What is wrong with the tensors, attributes, program and scratch memory of the
/// call, by argument; empty where nothing is. `call.device` is known.
std::string check_launch(const Call& call, MemoryMap& memory);

}  // namespace ferry::runtime::layers

#endif  // FERRY_RUNTIME_LAYERS_VALIDATE_LAUNCH_H
