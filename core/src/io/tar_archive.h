// SPDX-License-Identifier: Apache-2.0
//
// The members of a tar archive, where they lie in the file.
#ifndef FERRY_IO_TAR_ARCHIVE_H
#define FERRY_IO_TAR_ARCHIVE_H

#include <map>
#include <string>

#include "io/mapped_file.h"

namespace ferry::io {

/// The contents of each regular member. FileError where the archive is damaged or
/// cut, or has two members of one name.
std::map<std::string, Bytes> read_tar(const MappedFile& file);

}  // namespace ferry::io

#endif  // FERRY_IO_TAR_ARCHIVE_H
