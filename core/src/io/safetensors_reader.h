// SPDX-License-Identifier: Apache-2.0
//
// Reads a safetensors file.
#ifndef FERRY_IO_SAFETENSORS_READER_H
#define FERRY_IO_SAFETENSORS_READER_H

#include <memory>

#include "ferry/io/load.h"
#include "io/mapped_file.h"

namespace ferry::io {

/// `file` looks like one. Throws as ferry::load(). The only tag is "cpu".
Value read_safetensors_file(const std::shared_ptr<const MappedFile>& file,
                            const ReadOptions& options);

}  // namespace ferry::io

#endif  // FERRY_IO_SAFETENSORS_READER_H
