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
  detail::Storage* storage;
  uint64_t offset;
};

/// Copies `bytes` >= 1 bytes; the ranges do not overlap. Comes after all earlier
/// work on both sides. On one device the copy may happen later, in stream order.
/// Otherwise it is done on return, unless it need not block and one side is host
/// memory: then it may still be under way, and later uses of either side
/// through Ferry wait for it. The source in pageable memory is free on return,
/// unless the caller says that it keeps it unchanged.
enum class CopyMode { kBlocking, kNonBlocking, kSourceKept };
void copy_bytes(Place dst, Place src, uint64_t bytes, CopyMode mode = CopyMode::kBlocking);
/// Done on return. `src` is free for reuse.
void copy_from_host(Place dst, const void* src, uint64_t bytes);
/// Done on return, after the device's earlier work.
void copy_to_host(void* dst, Place src, uint64_t bytes);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_COPY_H
