// SPDX-License-Identifier: Apache-2.0
//
// Direct copies between two devices of one plugin, after they were proven.
#ifndef FERRY_RUNTIME_PEER_H
#define FERRY_RUNTIME_PEER_H

#include "runtime/copy.h"
#include "runtime/device_state.h"

namespace ferry::runtime {

/// Whether bytes copied from `source` arrive at `target`. The first question for
/// a pair copies a pattern and looks: what a platform claims is not trusted.
/// FERRY_PEER=off answers no. Thread-safe.
bool peer_copy_works(DeviceState& target, DeviceState& source);

/// On `dst`'s current stream, after the earlier work of both sides; may happen
/// later.
void copy_to_peer(Place dst, Place src, uint64_t bytes);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_PEER_H
