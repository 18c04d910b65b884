// SPDX-License-Identifier: Apache-2.0
//
// Walks the section headers to the table of dynamic symbols.
#include "elf_symbols.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "check.h"

namespace ferry::verify {
namespace {

class File {
 public:
  explicit File(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  template <class T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) {
      not_applicable("the file ends at byte {}, inside of its tables", bytes_.size());
    }
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(uint64_t offset) const {
    if (offset >= bytes_.size()) return "";
    return std::string(bytes_.data() + offset,
                       strnlen(bytes_.data() + offset, bytes_.size() - offset));
  }

 private:
  std::vector<char> bytes_;
};

/// What linkers add to every library.
bool is_linkers(const std::string& name) {
  for (const char* own : {"_init", "_fini", "__bss_start", "_edata", "_end"}) {
    if (name == own) return true;
  }
  return false;
}

}  // namespace

DynamicSymbols dynamic_symbols(const std::string& path) {
  const File file(path);
  const auto header = file.at<ElfW(Ehdr)>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) not_applicable("it is no ELF file");
  DynamicSymbols out;
  bool found = false;
  for (uint64_t s = 0; s < header.e_shnum; ++s) {
    const auto table = file.at<ElfW(Shdr)>(header.e_shoff + s * header.e_shentsize);
    if (table.sh_type != SHT_DYNSYM || table.sh_entsize != sizeof(ElfW(Sym))) continue;
    found = true;
    const auto texts = file.at<ElfW(Shdr)>(header.e_shoff + table.sh_link * header.e_shentsize);
    for (uint64_t i = 1; i < table.sh_size / table.sh_entsize; ++i) {
      const auto symbol = file.at<ElfW(Sym)>(table.sh_offset + i * table.sh_entsize);
      const int binding = ELF64_ST_BIND(symbol.st_info);
      const int visibility = ELF64_ST_VISIBILITY(symbol.st_other);
      const std::string name = file.text(texts.sh_offset + symbol.st_name);
      if (name.empty() || binding == STB_LOCAL) continue;
      if (symbol.st_shndx == SHN_UNDEF) {
        if (binding != STB_WEAK) out.undefined.push_back(name);
      } else if (visibility != STV_HIDDEN && visibility != STV_INTERNAL && !is_linkers(name)) {
        out.defined.push_back(name);
      }
    }
  }
  if (!found) not_applicable("the file has no section of dynamic symbols");
  return out;
}

}  // namespace ferry::verify
