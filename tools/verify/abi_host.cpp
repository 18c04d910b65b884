// SPDX-License-Identifier: Apache-2.0
//
// Opening a plugin, the recording host table, and the counts of this process.
#include "abi_host.h"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "check.h"

namespace ferry::verify {
namespace {

ferry_rc record_failure(ferry_rc code, const char* where, const char* text) {
  FailText& last = fail_text();
  ++last.calls;
  last.code = code;
  last.where = where == nullptr ? "" : where;
  last.text = text == nullptr ? "" : text;
  return code;
}

std::string& plugin_name() {
  static auto* const name = new std::string();  // plugins may ask at exit
  return *name;
}

const char* option(const char* key) {
  if (key == nullptr || plugin_name().empty()) return nullptr;
  std::string variable = "FERRY_" + plugin_name() + "_" + key;
  for (char& c : variable) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return std::getenv(variable.c_str());
}

int entries_of(const char* folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++count;
  }
  return count;
}

}  // namespace

FailText& fail_text() {
  thread_local FailText* const last = new FailText();  // outlives the thread's end
  return *last;
}

std::string own_words() {
  const FailText& last = fail_text();
  if (last.calls == 0 || last.text.empty()) return ", without a text";
  return ": " + (last.where.empty() ? "" : last.where + ": ") + last.text;
}

std::string rc_name(ferry_rc rc) {
  const char* name = "no known code";
  switch (rc) {
#define FERRY_NAME_OF(code) \
  case code:                \
    name = #code;           \
    break;
    FERRY_NAME_OF(FERRY_OK)
    FERRY_NAME_OF(FERRY_DECLINED)
    FERRY_NAME_OF(FERRY_NOT_READY)
    FERRY_NAME_OF(FERRY_E_ARG)
    FERRY_NAME_OF(FERRY_E_OOM)
    FERRY_NAME_OF(FERRY_E_DEVICE)
    FERRY_NAME_OF(FERRY_E_LOST)
    FERRY_NAME_OF(FERRY_E_MISSING)
    FERRY_NAME_OF(FERRY_E_ABI)
    FERRY_NAME_OF(FERRY_E_OTHER)
#undef FERRY_NAME_OF
    default:
      break;
  }
  return fmt::format("{} ({})", name, rc);
}

const ferry_host& host_table(const std::string& name) {
  plugin_name() = name;
  static const ferry_host table = {
      sizeof(ferry_host),          FERRY_ABI_MINOR, &record_failure,
      [](int32_t, const char*) {}, &option,         [](ferry_device, const char*) {}};
  return table;
}

Plugin::Plugin(const std::string& path) {
  step("opening the file");
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) not_applicable("the file does not open: {}", dlerror());
  desc_ = static_cast<const ferry_plugin_desc*>(dlsym(library_, FERRY_PLUGIN_SYMBOL));
  if (desc_ == nullptr) not_applicable("the file has no symbol {}", FERRY_PLUGIN_SYMBOL);
  if (desc_->magic != FERRY_PLUGIN_MAGIC || desc_->major != FERRY_ABI_MAJOR) {
    not_applicable("its descriptor has magic {:#010x} and ABI major {}, not {:#010x} and {}",
                   desc_->magic, desc_->major, FERRY_PLUGIN_MAGIC, FERRY_ABI_MAJOR);
  }
  if (desc_->init == nullptr) not_applicable("its descriptor has no init function");
}

void Plugin::init(const ferry_host& host, ferry_plugin_api* api) {
  int32_t score = 0;
  if (desc_->probe != nullptr) {
    step("probe");
    const ferry_rc rc = desc_->probe(&host, &score);
    if (rc != FERRY_OK) not_applicable("probe gave {}{}", rc_name(rc), own_words());
  }
  step("init");
  const ferry_rc rc = desc_->init(&host, api);
  if (rc != FERRY_OK) not_applicable("init gave {}{}", rc_name(rc), own_words());
  std::memcpy(&api_, api, std::min<size_t>(api->size, sizeof api_));
  const ferry_core_api* core = api_.core;
  const bool whole = FERRY_HAS(core, sync) && core->count && core->info && core->open &&
                     core->close && core->alloc && core->release && core->h2d && core->d2h &&
                     core->d2d && core->sync;
  if (!whole) not_applicable("init handed over no core table with the ten required functions");
}

Plugin Plugin::initialised(const std::string& path) {
  Plugin plugin(path);
  ferry_plugin_api api{};
  api.size = sizeof api;
  plugin.init(host_table(plugin.desc_->name == nullptr ? "" : plugin.desc_->name), &api);
  return plugin;
}

std::vector<const ferry_kernel*> Plugin::kernels() const {
  std::vector<const ferry_kernel*> out;
  const char* at = reinterpret_cast<const char*>(api_.kernels);
  for (uint32_t i = 0; i < api_.n_kernels && at != nullptr; ++i) {
    const auto* kernel = reinterpret_cast<const ferry_kernel*>(at);
    if (!FERRY_HAS(kernel, launch)) break;  // load.kernels tells of it
    out.push_back(kernel);
    at += kernel->size;
  }
  return out;
}

ferry_device_info Plugin::info(uint32_t index) const {
  ferry_device_info info{};
  info.size = sizeof info;
  step(fmt::format("info({})", index));
  expect_ok(core().info(index, &info), fmt::format("info({})", index));
  return info;
}

void expect_ok(ferry_rc rc, const std::string& call) {
  if (rc != FERRY_OK) fail("{} gave {}, not FERRY_OK{}", call, rc_name(rc), own_words());
}

int open_files() { return entries_of("/proc/self/fd"); }
int threads() { return entries_of("/proc/self/task"); }

int threads_settling_at(int wanted) {
  int now = threads();
  for (int tries = 0; now > wanted && tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    now = threads();
  }
  return now;
}

uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace ferry::verify
