// SPDX-License-Identifier: Apache-2.0
//
// Reads a file of torch.save().
#ifndef FERRY_IO_TORCH_READER_H
#define FERRY_IO_TORCH_READER_H

#include <memory>

#include "ferry/io/load.h"
#include "io/torch_file.h"

namespace ferry::io {

/// `file` begins as one of the forms of PyTorch. FileError where it is damaged.
TorchFile parse_torch_file(const MappedFile& file);
/// The same, and throws as ferry::load().
Value read_torch_file(const std::shared_ptr<const MappedFile>& file, const ReadOptions& options);

}  // namespace ferry::io

#endif  // FERRY_IO_TORCH_READER_H
