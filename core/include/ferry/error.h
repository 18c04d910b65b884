// SPDX-License-Identifier: Apache-2.0
//
// The exceptions of Ferry. All derive from ferry::Error, so that one handler
// is enough; what() reads "[operation] what was wrong, with the values".
#ifndef FERRY_ERROR_H
#define FERRY_ERROR_H

#include <cstdint>
#include <stdexcept>
#include <string>

#include "ferry/export.h"

namespace ferry {

/// Base of everything that Ferry throws.
class FERRY_API Error : public std::runtime_error {
 public:
  /// `where` is the operation, `what` the reason; joined as "[where] what".
  Error(const std::string& where, const std::string& what)
      : std::runtime_error("[" + where + "] " + what) {}
  explicit Error(const std::string& text) : std::runtime_error(text) {}
  ~Error() override;
};

/// The caller's arguments are wrong: shapes, dtypes, values, names.
class FERRY_API InvalidArgument : public Error {
 public:
  using Error::Error;
  ~InvalidArgument() override;
};

/// The backend cannot do this operation, though the device works.
class FERRY_API UnsupportedError : public Error {
 public:
  using Error::Error;
  ~UnsupportedError() override;
};

/// The device or backend is not usable on this machine; says why.
class FERRY_API UnavailableError : public Error {
 public:
  using Error::Error;
  ~UnavailableError() override;
};

/// Versions of host and plugin, or of a file, do not fit together.
class FERRY_API IncompatibleError : public Error {
 public:
  using Error::Error;
  ~IncompatibleError() override;
};

/// A file cannot be read as what it should be, or cannot be written.
class FERRY_API FileError : public Error {
 public:
  using Error::Error;
  ~FileError() override;
};

/// The device failed or is lost. Other devices go on.
class FERRY_API DeviceError : public Error {
 public:
  using Error::Error;
  ~DeviceError() override;
};
class FERRY_API DeviceLostError : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~DeviceLostError() override;
};

/// A rule inside Ferry or a plugin was broken; please report it.
class FERRY_API InternalError : public Error {
 public:
  using Error::Error;
  ~InternalError() override;
};

/// A device has no room, after its cache was given back. The program may free
/// tensors and go on. Sizes in bytes; 0 where unknown.
class FERRY_API OutOfMemoryError : public Error {
 public:
  OutOfMemoryError(const std::string& text, uint64_t requested_bytes, uint64_t free_bytes,
                   uint64_t total_bytes, uint64_t allocated_bytes, uint64_t reserved_bytes)
      : Error(text),
        requested(requested_bytes),
        free(free_bytes),
        total(total_bytes),
        allocated(allocated_bytes),
        reserved(reserved_bytes) {}
  ~OutOfMemoryError() override;

  uint64_t requested;  ///< asked for
  uint64_t free;       ///< free as the driver says
  uint64_t total;      ///< of the device
  uint64_t allocated;  ///< in live tensors of this process
  uint64_t reserved;   ///< obtained from the driver by this process
};

}  // namespace ferry

#endif  // FERRY_ERROR_H
