// SPDX-License-Identifier: Apache-2.0
//
// Opening libraries with Boost.DLL, and reading what the loader says.
#include "runtime/open_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <locale.h>

#include <cstddef>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/dll/shared_library.hpp>

#include "runtime/elf_check.h"

namespace ferry::runtime {
namespace {

/// Makes the loader speak English on this thread while alive, since its texts
/// are read below.
class EnglishMessages {
 public:
  EnglishMessages()
      : locale_(::newlocale(LC_MESSAGES_MASK, "C", static_cast<locale_t>(nullptr))),
        before_(locale_ == nullptr ? nullptr : ::uselocale(locale_)) {}
  ~EnglishMessages() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  EnglishMessages(const EnglishMessages&) = delete;
  EnglishMessages& operator=(const EnglishMessages&) = delete;

 private:
  locale_t locale_;
  locale_t before_;
};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// The verdict for glibc's `words` about `file`.
Verdict judge_words(const std::string& file, const std::string& words) {
  constexpr std::string_view kUndefined = "undefined symbol: ";
  if (const size_t at = words.find(kUndefined); at != std::string::npos) {
    const size_t begin = at + kUndefined.size();
    const std::string symbol = words.substr(begin, words.find_first_of(" ,\t(", begin) - begin);
    return {verdict::kUndefinedSymbol,
            fmt::format("nothing defines the symbol '{}' ({})", symbol, words),
            "link the plugin with the library that has it, and with -z defs"};
  }
  if (const size_t at = words.find(": cannot open shared object file"); at != std::string::npos) {
    const std::string library = words.substr(0, at);
    if (library == file) return {verdict::kAbsent, words, "check the permissions of the file"};
    return {verdict::kMissingDependency,
            fmt::format("the library '{}', which it needs, is not found ({})", library, words),
            fmt::format("install '{}', or add its folder to LD_LIBRARY_PATH", library)};
  }
  if (contains(words, "' not found (required by")) {
    return {verdict::kMissingDependency,
            fmt::format("a library of this system is older than it needs ({})", words),
            "use a build of the plugin for this system"};
  }
  return {verdict::kWrongFormat, fmt::format("the system's loader refused it: {}", words), ""};
}

/// The descriptor at the symbol, if it is one: an object of at least the size
/// of the frozen part. Nothing behind the symbol is read.
OpenedLibrary judge_symbol(const void* symbol) {
  Dl_info info{};
  const ElfW(Sym)* entry = nullptr;
  void* extra = nullptr;
  if (::dladdr1(symbol, &info, &extra, RTLD_DL_SYMENT) != 0) {
    entry = static_cast<const ElfW(Sym)*>(extra);
  }
  if (entry != nullptr && ELF64_ST_TYPE(entry->st_info) == STT_FUNC) {
    return {nullptr, Verdict{verdict::kNotAPlugin,
                             "its symbol " FERRY_PLUGIN_SYMBOL " is a function, not a descriptor",
                             "export it with FERRY_EXPORT_PLUGIN, or as a ferry_plugin_desc"}};
  }
  constexpr size_t kLeast = offsetof(ferry_plugin_desc, reserved);
  if (entry != nullptr && entry->st_size != 0 && entry->st_size < kLeast) {
    uint32_t magic = 0;
    if (entry->st_size >= sizeof magic) std::memcpy(&magic, symbol, sizeof magic);
    if (magic != FERRY_PLUGIN_MAGIC) {
      return {nullptr, Verdict{verdict::kNotAPlugin,
                               fmt::format("its symbol " FERRY_PLUGIN_SYMBOL
                                           " has {} bytes and is no descriptor",
                                           entry->st_size),
                               "export it with FERRY_EXPORT_PLUGIN, or as a ferry_plugin_desc"}};
    }
    return {nullptr, Verdict{verdict::kAbiTooOld,
                             fmt::format("its descriptor has {} bytes, this host's ABI {}.{} needs "
                                         "{}: the plugin is too old",
                                         entry->st_size, FERRY_ABI_MAJOR, FERRY_ABI_MINOR, kLeast),
                             "build the plugin with current Ferry headers"}};
  }
  return {static_cast<const ferry_plugin_desc*>(symbol), std::nullopt};
}

Verdict no_symbol(const boost::dll::shared_library& library) {
  for (uint32_t major = 1; major < 10; ++major) {
    if (major == FERRY_ABI_MAJOR || !library.has(fmt::format("ferry_plugin_v{}", major))) continue;
    return {verdict::kAbiMajor,
            fmt::format("it speaks plugin ABI {}, this host speaks {}", major, FERRY_ABI_MAJOR),
            major > FERRY_ABI_MAJOR ? "upgrade Ferry, or use an older build of the plugin"
                                    : "upgrade the plugin"};
  }
  return {verdict::kNotAPlugin, "it has no symbol " FERRY_PLUGIN_SYMBOL,
          "keep other libraries out of the plugin folder"};
}

}  // namespace

OpenedLibrary open_library(const std::string& file) {
  if (auto refused = check_elf(file)) return {nullptr, std::move(refused)};
  // Kept for ever: code, thread-local data and texts of the plugin are in use
  // in places that nobody can count.
  static auto* const libraries = new std::vector<boost::dll::shared_library>();
  boost::dll::shared_library library;
  boost::dll::fs::error_code ec;
  try {
    const EnglishMessages english;
    namespace mode = boost::dll::load_mode;
    library.load(file, mode::rtld_now | mode::rtld_local, ec);
    if (ec) {
      const char* words = ::dlerror();
      return {nullptr, judge_words(file, words == nullptr ? ec.message() : words)};
    }
  } catch (const std::exception& e) {
    return {nullptr, Verdict{verdict::kInitFailed,
                             fmt::format("its static initialisation threw: {}", e.what()), ""}};
  } catch (...) {
    return {nullptr,
            Verdict{verdict::kInitFailed, "its static initialisation threw something", ""}};
  }
  libraries->push_back(std::move(library));
  const boost::dll::shared_library& kept = libraries->back();
  if (!kept.has(FERRY_PLUGIN_SYMBOL)) return {nullptr, no_symbol(kept)};
  return judge_symbol(&kept.get<const char>(FERRY_PLUGIN_SYMBOL));
}

}  // namespace ferry::runtime
