// SPDX-License-Identifier: Apache-2.0
//
// Writing a file beside its place and renaming it.
#include "io/atomic_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "ferry/error.h"
#include "io/text.h"

namespace ferry::io {
namespace {

/// A name that nobody else has; the file in the way would be one of ours.
std::string temporary_name(const std::string& target) {
  std::random_device random;
  return fmt::format("{}.{:08x}{:08x}.tmp", target, random(), random());
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : target_(path) {
  std::error_code error;
  const auto link = std::filesystem::canonical(path, error);
  if (!error) target_ = link.string();
  struct stat info {};
  const bool exists = ::stat(target_.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) fail("is no regular file that could be replaced", 0);
  folder_ = std::filesystem::path(target_).parent_path().string();
  if (folder_.empty()) folder_ = ".";
  temporary_ = temporary_name(target_);
  constexpr mode_t kMode = 0666;  // less the umask, as for any new file
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode);
  if (fd_ < 0) fail("cannot be written", errno);
  // A file that is replaced keeps its permissions.
  if (exists && ::fchmod(fd_, info.st_mode & 07777) != 0) {
    const int reason = errno;
    ::close(fd_);
    ::unlink(temporary_.c_str());
    fail("cannot be written", reason);
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what, int error) const {
  throw FileError("save",
                  fmt::format("{} {}{}{}", in_quotes(target_, 4096), what, error == 0 ? "" : ": ",
                              error == 0 ? "" : std::generic_category().message(error)));
}

void AtomicFile::write(const void* data, size_t bytes) {
  write_at(end_, data, bytes);
  end_ += bytes;
}

void AtomicFile::write_at(uint64_t offset, const void* data, size_t bytes) {
  const auto* next = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    constexpr size_t kMostAtOnce = size_t{1} << 30;
    const ssize_t count =
        ::pwrite(fd_, next, std::min(bytes, kMostAtOnce), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("cannot be written", errno);
    next += count;
    offset += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail("cannot be written to the disk", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail("cannot be written to the disk", errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot be replaced", errno);
  temporary_.clear();
  // The new name is on the disk when the folder is. Some file systems refuse
  // that for folders; the file itself is complete then all the same.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  (void)::fsync(folder);
  ::close(folder);
}

}  // namespace ferry::io
