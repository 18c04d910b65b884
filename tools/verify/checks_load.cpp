// SPDX-License-Identifier: Apache-2.0
//
// Level load, the file and its descriptor: the loader's verdict, symbols, texts
// and the kernel table.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>

#include "abi_host.h"
#include "check.h"
#include "checks_load.h"
#include "elf_symbols.h"
#include "ferry/device.h"

namespace ferry::verify {
namespace {

void verdict(const std::string& path) {
  // What the caller's environment filters out says nothing of the plugin.
  unsetenv("FERRY_VISIBLE_DEVICES");
  unsetenv("FERRY_PLUGIN_PATH");
  add_plugin_path(path);
  step("loading it as a program does");
  for (const LoadReportEntry& entry : load_report()) {
    std::error_code error;
    const bool same = entry.file == path || std::filesystem::equivalent(entry.file, path, error);
    if (!same) continue;
    expect(entry.code == "F000", "the loader's verdict is {}, not F000: {}", entry.code,
           entry.text);
    return;
  }
  fail("the load report has no line on the file");
}

void one_symbol(const std::string& path) {
  const std::vector<std::string> defined = dynamic_symbols(path).defined;
  const bool has = std::find(defined.begin(), defined.end(), FERRY_PLUGIN_SYMBOL) != defined.end();
  expect(has, "it does not export {}; it exports {} other symbols", FERRY_PLUGIN_SYMBOL,
         defined.size());
  for (const std::string& name : defined) {
    expect(name == FERRY_PLUGIN_SYMBOL, "it exports {} symbols, not {} alone; one of them is {}",
           defined.size(), FERRY_PLUGIN_SYMBOL, name);
  }
}

/// The libraries that the file names as needed.
std::vector<std::string> needed_libraries(void* library) {
  std::vector<std::string> out;
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return out;
  const char* texts = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(d->d_un.d_ptr);
  }
  for (const ElfW(Dyn)* d = map->l_ld; texts != nullptr && d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_NEEDED) out.emplace_back(texts + d->d_un.d_val);
  }
  return out;
}

void self_contained(const std::string& path) {
  const std::vector<std::string> undefined = dynamic_symbols(path).undefined;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail("the file does not open by itself: {}", dlerror());
  for (const std::string& needed : needed_libraries(library)) {
    expect(!needed.starts_with("libferry.so"),
           "it needs {}, the host's library; a plugin imports nothing from the host", needed);
  }
  for (const std::string& name : undefined) {
    // Looks into the library and those that it names, not into this program.
    expect(dlsym(library, name.c_str()) != nullptr,
           "symbol {} is undefined in it and in the libraries that it names", name);
  }
}

bool is_utf8(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const size_t length = lead < 0x80             ? 1
                          : (lead & 0xe0) == 0xc0 ? 2
                          : (lead & 0xf0) == 0xe0 ? 3
                          : (lead & 0xf8) == 0xf0 ? 4
                                                  : 0;
    if (length == 0 || lead == 0xc0 || lead == 0xc1 || i + length > text.size()) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

void descriptor(const std::string& path) {
  const Plugin plugin(path);
  const ferry_plugin_desc& d = plugin.desc();
  struct Text {
    const char* name;
    const char* text;
    bool may_be_empty;
  };
  for (const Text& t :
       {Text{"name", d.name, false}, Text{"version", d.version, false},
        Text{"vendor", d.vendor, false}, Text{"requires_text", d.requires_text, true}}) {
    expect(t.text != nullptr, "{} is NULL, not a text", t.name);
    expect(t.may_be_empty || *t.text != '\0', "{} is empty", t.name);
    expect(is_utf8(t.text), "{} is not valid UTF-8", t.name);
  }
  expect(d.size >= offsetof(ferry_plugin_desc, reserved), "size is {}, less than the {} of ABI 1.0",
         d.size, offsetof(ferry_plugin_desc, reserved));
  expect(d.minor_min <= d.minor_built, "minor_min is {}, more than minor_built, {}", d.minor_min,
         d.minor_built);
  for (size_t i = 0; i < std::size(d.reserved) && FERRY_HAS(&d, reserved); ++i) {
    expect(d.reserved[i] == 0, "reserved[{}] is {:#x}, not 0", i, d.reserved[i]);
  }
}

void kernels(const std::string& path) {
  const Plugin plugin = Plugin::initialised(path);
  static const std::regex family_form("[a-z][a-z0-9_.]*/[1-9][0-9]*");
  const char* at = reinterpret_cast<const char*>(plugin.api().kernels);
  expect(plugin.api().n_kernels == 0 || at != nullptr, "n_kernels is {} and kernels is NULL",
         plugin.api().n_kernels);
  for (uint32_t i = 0; i < plugin.api().n_kernels; ++i) {
    const auto* kernel = reinterpret_cast<const ferry_kernel*>(at);
    step(fmt::format("reading kernel {}", i));
    expect(FERRY_HAS(kernel, launch) && kernel->size % alignof(ferry_kernel) == 0,
           "kernel {} has size {}, not a multiple of {} of at least {}", i, kernel->size,
           alignof(ferry_kernel), sizeof(ferry_kernel));
    expect(kernel->family != nullptr, "kernel {} has no family", i);
    expect(std::regex_match(kernel->family, family_form),
           "kernel {} has family '{}', which is not of the form \"name/revision\"", i,
           kernel->family);
    expect(kernel->launch != nullptr, "kernel {} ({}) has no launch", i, kernel->family);
    expect(kernel->dtypes != 0, "kernel {} ({}) declares no dtypes", i, kernel->family);
    at += kernel->size;
  }
}

}  // namespace

std::vector<Check> load_checks() {
  std::vector<Check> checks = {{"load.verdict", verdict},
                               {"load.one-symbol", one_symbol},
                               {"load.self-contained", self_contained},
                               {"load.descriptor", descriptor}};
  for (Check& check : load_behaviour_checks()) checks.push_back(std::move(check));
  checks.push_back({"load.kernels", kernels});
  return checks;
}

}  // namespace ferry::verify
