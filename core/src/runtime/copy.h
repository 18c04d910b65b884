// SPDX-License-Identifier: Apache-2.0
//
// Byte copies between any two places: host memory, or a block of any device.
#ifndef FERRY_RUNTIME_COPY_H
#define FERRY_RUNTIME_COPY_H

#include <cstdint>

#include "runtime/storage.h"

namespace ferry::runtime {

/// A place in a storage; `offset` in bytes.
struct Place {
  const detail::Storage* storage;
  uint64_t offset;
};

/// Copies `bytes` >= 1 bytes; the ranges do not overlap. On one device the copy
/// is ordered in its stream and may happen later; otherwise it is done on
/// return, after the earlier work of both devices.
void copy_bytes(Place dst, Place src, uint64_t bytes);
/// Done on return. `src` is free for reuse.
void copy_from_host(Place dst, const void* src, uint64_t bytes);
/// Done on return, after the device's earlier work.
void copy_to_host(void* dst, Place src, uint64_t bytes);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_COPY_H
