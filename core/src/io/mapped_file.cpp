// SPDX-License-Identifier: Apache-2.0
//
// Opening and mapping a file.
#include "io/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "ferry/error.h"

namespace ferry::io {
namespace {

constexpr const char* kWhere = "load";

std::string system_text(int error) { return std::generic_category().message(error); }

/// Closes at the end of the scope; the mapping does not need it.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory; name a file in it";
  return "is no regular file but a pipe or a device; copy it to a file first";
}

}  // namespace

MappedFile::MappedFile(const std::string& path) : path_(path) {
  // Without O_NONBLOCK a pipe without a writer would be waited for.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) {
    throw FileError(
        kWhere, fmt::format("{} cannot be opened: {}", in_quotes(path, 4096), system_text(errno)));
  }
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) fail("cannot be examined: " + system_text(errno));
  if (!S_ISREG(info.st_mode)) {
    throw FileError(kWhere, fmt::format("{} {}", in_quotes(path, 4096), kind_of(info.st_mode)));
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) fail("is empty; download incomplete?");
  // Tensors may be these pages; writing to one makes a copy of it.
  constexpr int kFlags = MAP_PRIVATE | MAP_NORESERVE;
  void* const address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, kFlags, file.fd, 0);
  if (address == MAP_FAILED) fail("cannot be mapped into memory: " + system_text(errno));
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::drop(Bytes part) const noexcept {
  // Whole pages only: the neighbours may not have been read yet.
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto first = static_cast<uint64_t>(part.data() - bytes_.data());
  const uint64_t begin = (first + page - 1) / page * page;
  const uint64_t end = (first + part.size()) / page * page;
  if (begin >= end) return;
  ::madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::fail(const std::string& reason) const {
  throw FileError(kWhere, fmt::format("{} ({} bytes): {}", in_quotes(path_, 4096), size(), reason));
}

}  // namespace ferry::io
