// SPDX-License-Identifier: Apache-2.0
//
// Reads a file of torch.save().
#ifndef FERRY_IO_TORCH_READER_H
#define FERRY_IO_TORCH_READER_H

#include "ferry/io/map_location.h"
#include "ferry/io/value.h"
#include "io/mapped_file.h"

namespace ferry::io {

/// `file` begins as a zip archive. Throws as ferry::load().
Value read_torch_file(const MappedFile& file, const MapLocation& map);

}  // namespace ferry::io

#endif  // FERRY_IO_TORCH_READER_H
