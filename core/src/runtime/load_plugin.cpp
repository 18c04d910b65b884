// SPDX-License-Identifier: Apache-2.0
//
// Judging a descriptor, probing, initialising, and listing the devices.
#include "runtime/load_plugin.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/host_services.h"
#include "runtime/import.h"
#include "runtime/log.h"
#include "runtime/open_library.h"

namespace ferry::runtime {
namespace {

/// Features of this host, for ferry_plugin_desc::needs. ABI 1.0 names none.
constexpr uint64_t kHostFeatures = 0;
constexpr size_t kMaxNameLength = 32;
/// Device holds its index in 16 bits; a count beyond this is a wrong answer.
constexpr uint32_t kMaxDevices = 4096;

/// Adds the time from its making to its end to `milliseconds`.
class Stopwatch {
 public:
  explicit Stopwatch(double& milliseconds) : milliseconds_(milliseconds) {}
  ~Stopwatch() {
    milliseconds_ += std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& milliseconds_;
  Clock::time_point begin_ = Clock::now();
};

/// A text of the plugin, of bounded length.
std::string text_of(const char* text, size_t limit = 512) {
  return text == nullptr ? "" : std::string(text, strnlen(text, limit));
}

void refuse(Plugin& plugin, Verdict verdict) {
  plugin.report.code = std::move(verdict.code);
  plugin.report.text = std::move(verdict.text);
  plugin.report.remedy = std::move(verdict.remedy);
}

/// What the plugin said on this thread: its failure, else its last log line,
/// else that it gave no reason.
std::string own_words(const std::string& otherwise) {
  std::string failure = take_failure();
  std::string line = take_log_line();
  if (!failure.empty()) return failure;
  return line.empty() ? otherwise : line;
}

void forget_words() {
  (void)take_failure();
  (void)take_log_line();
}

std::string remedy_of(const ferry_plugin_desc& desc) {
  const std::string text = text_of(desc.requires_text);
  return text.empty() ? "" : "it requires: " + text;
}

std::vector<std::string> split_aliases(const ferry_plugin_desc& desc, const std::string& name) {
  std::vector<std::string> aliases;
  const std::string text = text_of(desc.aliases);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string alias = text.substr(begin, end - begin);
    if (is_backend_name(alias) && !is_reserved_name(alias)) {
      aliases.push_back(alias);
    } else {
      log(LogLevel::kWarn, name, fmt::format("alias '{}' is no valid name: it is left out", alias));
    }
    begin = end + 1;
  }
  return aliases;
}

std::optional<Verdict> judge_versions(const ferry_plugin_desc& desc) {
  if (desc.magic != FERRY_PLUGIN_MAGIC) {
    return Verdict{verdict::kNotAPlugin,
                   fmt::format("its descriptor begins with {:#010x}, not with {:#010x}", desc.magic,
                               FERRY_PLUGIN_MAGIC),
                   "set magic to FERRY_PLUGIN_MAGIC"};
  }
  if (desc.major != FERRY_ABI_MAJOR) {
    return Verdict{verdict::kAbiMajor,
                   fmt::format("it was built for plugin ABI {}.{}, this host speaks {}.{}",
                               desc.major, desc.minor_built, FERRY_ABI_MAJOR, FERRY_ABI_MINOR),
                   desc.major > FERRY_ABI_MAJOR
                       ? "upgrade Ferry, or use an older build of the plugin"
                       : "upgrade the plugin"};
  }
  constexpr size_t kLeast = offsetof(ferry_plugin_desc, reserved);
  if (desc.size < kLeast) {
    return Verdict{verdict::kAbiTooOld,
                   fmt::format("its descriptor for ABI {}.{} has {} bytes, this host's ABI {}.{} "
                               "needs {}",
                               desc.major, desc.minor_built, desc.size, FERRY_ABI_MAJOR,
                               FERRY_ABI_MINOR, kLeast),
                   "upgrade the plugin: build it with current Ferry headers"};
  }
  if (desc.minor_min > FERRY_ABI_MINOR) {
    return Verdict{verdict::kAbiTooNew,
                   fmt::format("it needs a host of plugin ABI {}.{} or later, this host speaks "
                               "{}.{}",
                               desc.major, desc.minor_min, FERRY_ABI_MAJOR, FERRY_ABI_MINOR),
                   "upgrade Ferry, or use an older build of the plugin"};
  }
  if (const uint64_t lacking = desc.needs & ~kHostFeatures; lacking != 0) {
    std::string bits;
    for (int bit = 0; bit < 64; ++bit) {
      if ((lacking >> bit & 1) != 0) bits += fmt::format("{}{}", bits.empty() ? "" : ", ", bit);
    }
    return Verdict{
        verdict::kMissingFeature,
        fmt::format("it needs host features that this host does not offer: bit {}", bits),
        "upgrade Ferry"};
  }
  return std::nullopt;
}

std::optional<Verdict> judge_name(const ferry_plugin_desc& desc) {
  const std::string name = text_of(desc.name, kMaxNameLength + 1);
  const char* const remedy = "choose another name for the backend";
  if (!is_backend_name(name)) {
    return Verdict{verdict::kNotAPlugin,
                   fmt::format("its backend name '{}' is not of the form [a-z][a-z0-9_]* with at "
                               "most {} characters",
                               name, kMaxNameLength),
                   remedy};
  }
  if (is_reserved_name(name)) {
    return Verdict{verdict::kNotAPlugin,
                   fmt::format("its backend name '{}' is reserved by Ferry", name), remedy};
  }
  if (desc.init == nullptr) {
    return Verdict{verdict::kInitFailed, "its descriptor has no init function", ""};
  }
  return std::nullopt;
}

std::optional<Verdict> probe(Plugin& plugin) {
  if (plugin.desc->probe == nullptr) return std::nullopt;
  forget_words();
  const ferry_rc rc =
      guarded("probe", [&] { return plugin.desc->probe(plugin.host, &plugin.score); });
  if (rc == FERRY_OK) return std::nullopt;
  return Verdict{verdict::kProbeDeclined,
                 own_words(fmt::format("the plugin declined without a reason (code {})", rc)),
                 remedy_of(*plugin.desc)};
}

/// The tables that init handed over, and room behind them for a plugin that,
/// against the rules, writes the larger struct of newer headers.
struct RoomyApi {
  ferry_plugin_api api{};
  char room[512] = {};
};

std::optional<Verdict> initialise(Plugin& plugin, ferry_plugin_api* api) {
  RoomyApi roomy;
  roomy.api.size = sizeof roomy.api;
  const ferry_rc rc = guarded("init", [&] { return plugin.desc->init(plugin.host, &roomy.api); });
  if (rc != FERRY_OK) {
    return Verdict{verdict::kInitFailed,
                   own_words(fmt::format("init failed without a reason (code {})", rc)),
                   remedy_of(*plugin.desc)};
  }
  if (const char* function = missing_core_function(roomy.api)) {
    return Verdict{verdict::kInitFailed,
                   fmt::format("its core table lacks the required function '{}'", function),
                   "a plugin must have the first ten functions of ferry_core_api"};
  }
  *api = roomy.api;
  return std::nullopt;
}

std::optional<Verdict> describe_devices(Plugin& plugin, BackendEntry& entry) {
  const uint32_t count = entry.backend->count();
  if (count == 0) {
    return Verdict{verdict::kNoDevices, own_words("the plugin finds no device"),
                   remedy_of(*plugin.desc)};
  }
  if (count > kMaxDevices) {
    return Verdict{
        verdict::kInitFailed,
        fmt::format("it says it has {} devices, at most {} are possible", count, kMaxDevices), ""};
  }
  for (uint32_t i = 0; i < count; ++i) {
    ferry_device_info info{};
    info.size = sizeof info;
    const hal::Status status = entry.backend->info(i, &info);
    if (!status.ok()) {
      return Verdict{
          verdict::kInitFailed,
          fmt::format("it cannot describe its device {}: {}", i,
                      own_words(fmt::format("no reason given (code {})", status.code()))),
          remedy_of(*plugin.desc)};
    }
    for (auto [text, size] : {std::pair<char*, size_t>{info.name, sizeof info.name},
                              {info.vendor, sizeof info.vendor},
                              {info.uuid, sizeof info.uuid},
                              {info.pci, sizeof info.pci},
                              {info.arch, sizeof info.arch},
                              {info.driver, sizeof info.driver}}) {
      text[size - 1] = '\0';
    }
    entry.infos.push_back(info);
  }
  // The runtime touches the memory of the CPU directly.
  constexpr uint32_t kHostCaps = FERRY_CAP_HANDLE_IS_ADDRESS | FERRY_CAP_HOST_ACCESSIBLE;
  if (entry.name == "cpu" &&
      (entry.infos[0].kind != FERRY_KIND_CPU || (entry.infos[0].caps & kHostCaps) != kHostCaps)) {
    return Verdict{verdict::kInitFailed,
                   "the backend name 'cpu' is for a device of kind CPU with memory that the host "
                   "can touch",
                   "choose another name for the backend"};
  }
  return std::nullopt;
}

}  // namespace

bool is_reserved_name(std::string_view name) {
  return name == "gpu" || name == "auto" || name == "meta" || name == "all" || name == "none";
}

bool is_backend_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameLength || name[0] < 'a' || name[0] > 'z') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

Plugin open_plugin(const Candidate& candidate) {
  Plugin plugin;
  plugin.report.file = candidate.file;
  plugin.report.found_by = candidate.found_by;
  const Stopwatch watch(plugin.report.milliseconds);
  if (candidate.refused) {
    refuse(plugin, *candidate.refused);
    return plugin;
  }
  OpenedLibrary library = open_library(candidate.file);
  if (library.refused) {
    refuse(plugin, std::move(*library.refused));
    return plugin;
  }
  const ferry_plugin_desc& desc = *library.desc;
  if (auto refused = judge_versions(desc)) {
    // Where the layout is known, the name says whose absence this explains.
    if (refused->code == verdict::kAbiTooNew || refused->code == verdict::kMissingFeature) {
      const std::string name = text_of(desc.name, kMaxNameLength + 1);
      if (is_backend_name(name)) plugin.report.backend = name;
    }
    refuse(plugin, std::move(*refused));
    return plugin;
  }
  if (auto refused = judge_name(desc)) {
    refuse(plugin, std::move(*refused));
    return plugin;
  }
  plugin.report.backend = desc.name;
  plugin.report.version = text_of(desc.version);
  plugin.desc = &desc;
  plugin.aliases = split_aliases(desc, desc.name);
  plugin.host = host_services_for(desc.name);
  if (plugin.host == nullptr) {
    refuse(plugin, {verdict::kInitFailed, "this process has no room for more backends", ""});
  }
  return plugin;
}

void probe_plugin(Plugin& plugin) {
  const Stopwatch watch(plugin.report.milliseconds);
  if (auto refused = probe(plugin)) refuse(plugin, std::move(*refused));
}

std::unique_ptr<BackendEntry> start_plugin(Plugin& plugin) {
  const Stopwatch watch(plugin.report.milliseconds);
  forget_words();
  ferry_plugin_api api{};
  if (auto refused = initialise(plugin, &api)) {
    refuse(plugin, std::move(*refused));
    return nullptr;
  }
  auto entry = std::make_unique<BackendEntry>();
  entry->name = plugin.report.backend;
  entry->aliases = plugin.aliases;
  entry->file = plugin.report.file;
  entry->backend = import_plugin(*plugin.desc, api);
  if (auto refused = describe_devices(plugin, *entry)) {
    refuse(plugin, std::move(*refused));
    return nullptr;
  }
  plugin.report.devices = static_cast<int>(entry->infos.size());
  plugin.report.code = verdict::kLoaded;
  plugin.report.text = fmt::format("{} device{}, built for plugin ABI {}.{}", plugin.report.devices,
                                   plugin.report.devices == 1 ? "" : "s", plugin.desc->major,
                                   plugin.desc->minor_built);
  if (plugin.desc->probe != nullptr) plugin.report.text += fmt::format(", score {}", plugin.score);
  return entry;
}

}  // namespace ferry::runtime
