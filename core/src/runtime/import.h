// SPDX-License-Identifier: Apache-2.0
//
// Turns a plugin's C tables into the hal classes that the runtime works with.
#ifndef FERRY_RUNTIME_IMPORT_H
#define FERRY_RUNTIME_IMPORT_H

#include <memory>

#include "ferry/abi/plugin.h"
#include "ferry/hal/device.h"

namespace ferry::runtime {

/// The first of the ten required core functions that `api` lacks, or null where
/// it has them all.
const char* missing_core_function(const ferry_plugin_api& api);

/// The tables as hal classes. What a table lacks answers FERRY_E_MISSING, and
/// no exception of the plugin gets through. The tables must outlive the result,
/// and the result everything made from it.
std::unique_ptr<hal::Backend> import_plugin(const ferry_plugin_desc& desc,
                                            const ferry_plugin_api& api);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_IMPORT_H
