// SPDX-License-Identifier: Apache-2.0
//
// Anchors the exception types in libferry, so that each has one type identity.
#include "ferry/error.h"

namespace ferry {

Error::~Error() = default;
InvalidArgument::~InvalidArgument() = default;
UnsupportedError::~UnsupportedError() = default;
UnavailableError::~UnavailableError() = default;
IncompatibleError::~IncompatibleError() = default;
FileError::~FileError() = default;
DeviceError::~DeviceError() = default;
DeviceLostError::~DeviceLostError() = default;
InternalError::~InternalError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;

}  // namespace ferry
