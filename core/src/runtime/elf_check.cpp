// SPDX-License-Identifier: Apache-2.0
//
// The checks of an ELF file's headers against its size and this process.
#include "runtime/elf_check.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace ferry::runtime {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);

class File {
 public:
  explicit File(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd_ >= 0; }
  /// -1 where it cannot be told.
  int64_t size() const {
    struct stat info {};
    return ::fstat(fd_, &info) == 0 ? static_cast<int64_t>(info.st_size) : -1;
  }
  bool read(void* dst, size_t bytes, uint64_t offset) const {
    auto* to = static_cast<char*>(dst);
    while (bytes > 0) {
      const ssize_t got = ::pread(fd_, to, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      bytes -= static_cast<size_t>(got);
      offset += static_cast<uint64_t>(got);
    }
    return true;
  }

 private:
  int fd_;
};

Verdict wrong_format(std::string text, std::string remedy = "") {
  return {verdict::kWrongFormat, std::move(text), std::move(remedy)};
}

Verdict truncated(std::string_view what, uint64_t end, uint64_t size) {
  return wrong_format(
      fmt::format("the file is truncated: {} ends at byte {}, the file has {}", what, end, size),
      "copy or install it again");
}

bool fits(uint64_t offset, uint64_t bytes, uint64_t size) {
  return offset <= size && bytes <= size - offset;
}

std::string machine_name(uint16_t machine) {
  constexpr std::pair<uint16_t, const char*> kNames[] = {
      {EM_386, "x86 (32 bits)"}, {EM_X86_64, "x86-64"}, {EM_ARM, "ARM (32 bits)"},
      {EM_AARCH64, "AArch64"},   {EM_PPC64, "POWER"},   {EM_S390, "s390x"},
      {EM_RISCV, "RISC-V"},      {EM_MIPS, "MIPS"},     {258, "LoongArch"}};
  for (const auto& [number, name] : kNames) {
    if (number == machine) return name;
  }
  return fmt::format("machine {}", machine);
}

/// The ELF header of this library, as mapped.
const Header* own_header() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&check_elf), &info) == 0) return nullptr;
  const auto* header = static_cast<const Header*>(info.dli_fbase);
  return std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 ? header : nullptr;
}

/// The identification and machine, whose places are the same in every ELF file.
std::optional<Verdict> check_target(const unsigned char* ident, const Header& header) {
  constexpr int kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  constexpr int kData = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  uint16_t machine = header.e_machine;
  if (ident[EI_DATA] != kData) machine = static_cast<uint16_t>(machine << 8 | machine >> 8);
  const Header* own = own_header();
  const std::string own_machine = own == nullptr ? "another" : machine_name(own->e_machine);
  const char* const remedy = "use the plugin's build for this architecture";
  if (ident[EI_CLASS] != kClass || (own != nullptr && machine != own->e_machine)) {
    return wrong_format(fmt::format("the library is for {} ({} bits), this process is {} ({} bits)",
                                    machine_name(machine),
                                    ident[EI_CLASS] == ELFCLASS64   ? "64"
                                    : ident[EI_CLASS] == ELFCLASS32 ? "32"
                                                                    : "unknown",
                                    own_machine, sizeof(void*) * 8),
                        remedy);
  }
  if (ident[EI_DATA] != kData) {
    return wrong_format(fmt::format("the library is {}-endian {}, this process is {}-endian",
                                    kData == ELFDATA2LSB ? "big" : "little", machine_name(machine),
                                    kData == ELFDATA2LSB ? "little" : "big"),
                        remedy);
  }
  if (header.e_type == ET_DYN) return std::nullopt;
  const char* const type = header.e_type == ET_REL    ? "an object file"
                           : header.e_type == ET_EXEC ? "an executable"
                           : header.e_type == ET_CORE ? "a core dump"
                                                      : "of an unknown type";
  return wrong_format(fmt::format("the ELF file is {}, not a shared library", type),
                      "link it with -shared");
}

std::optional<Verdict> check_tables(const File& file, const Header& header, uint64_t size) {
  if (header.e_phnum == 0 || header.e_phentsize != sizeof(Segment)) {
    return wrong_format("the ELF header names no valid program headers");
  }
  const uint64_t segment_bytes = uint64_t{header.e_phnum} * sizeof(Segment);
  if (!fits(header.e_phoff, segment_bytes, size)) {
    return truncated("the program header table", header.e_phoff + segment_bytes, size);
  }
  std::vector<Segment> segments(header.e_phnum);
  if (!file.read(segments.data(), segment_bytes, header.e_phoff)) {
    return wrong_format(fmt::format("cannot read the file: {}", std::strerror(errno)));
  }
  bool loads = false, dynamic = false;
  for (const Segment& segment : segments) {
    loads |= segment.p_type == PT_LOAD;
    dynamic |= segment.p_type == PT_DYNAMIC;
    if (segment.p_type != PT_NULL && !fits(segment.p_offset, segment.p_filesz, size)) {
      return truncated("a segment", segment.p_offset + segment.p_filesz, size);
    }
  }
  if (!loads || !dynamic) return wrong_format("the library has nothing to load");
  const uint64_t section_bytes = uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && !fits(header.e_shoff, section_bytes, size)) {
    return truncated("the section header table", header.e_shoff + section_bytes, size);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Verdict> check_elf(const std::string& path) {
  const File file(path);
  const int64_t size = file.is_open() ? file.size() : -1;
  if (size < 0) {
    return Verdict{verdict::kAbsent, fmt::format("cannot open the file: {}", std::strerror(errno)),
                   "check the permissions of the file"};
  }
  unsigned char ident[EI_NIDENT] = {};
  const uint64_t begin = std::min<uint64_t>(sizeof ident, static_cast<uint64_t>(size));
  if (size == 0) return wrong_format("the file is empty", "copy or install it again");
  if (!file.read(ident, begin, 0)) {
    return wrong_format(fmt::format("cannot read the file: {}", std::strerror(errno)));
  }
  if (std::memcmp(ident, ELFMAG, std::min<uint64_t>(SELFMAG, begin)) != 0) {
    return wrong_format("the file is no ELF library: it does not begin with the ELF magic number");
  }
  Header header{};
  if (!fits(0, sizeof header, static_cast<uint64_t>(size))) {
    return truncated("the ELF header", sizeof header, static_cast<uint64_t>(size));
  }
  if (!file.read(&header, sizeof header, 0)) {
    return wrong_format(fmt::format("cannot read the file: {}", std::strerror(errno)));
  }
  if (auto refused = check_target(ident, header)) return refused;
  return check_tables(file, header, static_cast<uint64_t>(size));
}

}  // namespace ferry::runtime
