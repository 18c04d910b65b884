// SPDX-License-Identifier: Apache-2.0
//
// Loading on first use, choosing among plugins of one name, and explaining
// absences.
#include "runtime/registry.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ferry/error.h"
#include "runtime/device_list.h"
#include "runtime/layers/start.h"
#include "runtime/load_plugin.h"
#include "runtime/log.h"
#include "runtime/same_device.h"
#include "runtime/search.h"
#include "runtime/selection.h"
#include "runtime/verdict.h"
#include "runtime/visible.h"

namespace ferry::runtime {
namespace {

std::atomic<Registry*> instance{nullptr};
/// The same, but null where every question must throw.
std::atomic<Registry*> usable_instance{nullptr};
thread_local bool loading_here = false;

/// Whether a verdict is a fault of the installation, rather than a machine
/// without that hardware or a file that is meant for others.
bool is_fault(const std::string& code) {
  return code != verdict::kLoaded && code != verdict::kNotAPlugin && code != verdict::kDuplicate &&
         code != verdict::kAbsent && code != verdict::kProbeDeclined &&
         code != verdict::kNoDevices && code != verdict::kHidden;
}

void log_entry(const LoadReportEntry& entry) {
  const LogLevel level = is_fault(entry.code) ? LogLevel::kWarn : LogLevel::kInfo;
  if (!log_enabled(level)) return;
  log(level, entry.backend.empty() ? "runtime" : entry.backend,
      fmt::format("{}: {} {}{}{} ({:.1f} ms)", entry.file, entry.code, entry.text,
                  entry.remedy.empty() ? "" : "; ", entry.remedy, entry.milliseconds));
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

/// What a program may say before the plugins are loaded.
struct Registry::Settings {
  std::mutex mutex;
  std::vector<std::string> paths;
  std::optional<std::string> visible;
};

Registry::Settings& Registry::settings() {
  static auto* const object = new Settings();
  return *object;
}

Registry& Registry::get() {
  Registry* usable = usable_instance.load(std::memory_order_acquire);
  if (usable != nullptr) return *usable;
  Registry& registry = get_for_report();
  if (registry.refusal_ != nullptr) registry.refusal_->rethrow();
  return registry;
}

Registry& Registry::get_for_report() {
  Registry* registry = instance.load(std::memory_order_acquire);
  return registry != nullptr ? *registry : load();
}

Registry& Registry::get_for_question() {
  Registry& registry = get();
  registry.environment_.warn_of_changes();
  return registry;
}

Registry& Registry::load() {
  if (loading_here) {
    throw InternalError("plugins", "a plugin asked for devices while the plugins are being loaded");
  }
  // Before the lock: what was logged meanwhile is delivered after its release.
  const LogHold hold;
  Settings& state = settings();
  std::lock_guard lock(state.mutex);
  if (Registry* ready = instance.load(std::memory_order_acquire)) return *ready;
  struct Mark {
    Mark() { loading_here = true; }
    ~Mark() { loading_here = false; }
  } const mark;
  auto* registry = new Registry(state);
  if (registry->refusal_ == nullptr) usable_instance.store(registry, std::memory_order_release);
  instance.store(registry, std::memory_order_release);
  return *registry;
}

void Registry::add_path(const std::string& path) {
  if (!path.starts_with('/')) {
    throw InvalidArgument("add_plugin_path",
                          fmt::format("'{}' is not an absolute path; write it in full", path));
  }
  Settings& state = settings();
  std::lock_guard lock(state.mutex);
  if (instance.load(std::memory_order_acquire) != nullptr) {
    throw InvalidArgument("add_plugin_path",
                          fmt::format("'{}' comes too late: the plugins are loaded already; call "
                                      "this before the first use of a device",
                                      path));
  }
  state.paths.push_back(path);
}

void Registry::set_visible(std::string_view list) {
  constexpr const char* kWhere = "set_visible_devices";
  (void)parse_device_list(list, kWhere);
  Settings& state = settings();
  std::lock_guard lock(state.mutex);
  if (instance.load(std::memory_order_acquire) != nullptr) {
    throw InvalidArgument(kWhere,
                          fmt::format("'{}' comes too late: the plugins are loaded already; "
                                      "call this before the first use of a device",
                                      printable(list)));
  }
  state.visible = list;
}

Registry::Registry(const Settings& settings) {
  const bool by_call = settings.visible.has_value();
  visible_origin_ = by_call ? "set_visible_devices" : "FERRY_VISIBLE_DEVICES";
  const VisibleDevices visible(
      by_call ? settings.visible : environment_[Environment::kVisibleDevices], visible_origin_);
  SearchResult found = find_candidates(settings.paths);
  places_ = std::move(found.places);
  std::vector<Plugin> plugins;
  for (const Candidate& candidate : found.candidates) plugins.push_back(open_plugin(candidate));
  visible.hide_unwanted(plugins);
  for (Plugin& plugin : plugins) {
    if (plugin.usable()) probe_plugin(plugin);
  }
  std::set<std::string> names;
  for (size_t i = 0; i < plugins.size(); ++i) {
    const std::string name = plugins[i].report.backend;
    if (plugins[i].usable() && names.insert(name).second) start_best(plugins, name);
  }
  number_backends();
  settle_aliases();
  for (Plugin& plugin : plugins) {
    for (auto& alias : plugin.aliases) aliases_.emplace_back(alias, plugin.report.backend);
    const std::string& code = plugin.report.code;
    if (code == verdict::kNoDevices || code == verdict::kProbeDeclined) {
      plugin.report.text += vendor_variables(*plugin.desc);
    }
    report_.push_back(std::move(plugin.report));
  }
  hide_devices(visible);
  add_layers();
  mark_same_devices(backends_);
  for (const LoadReportEntry& entry : report_) log_entry(entry);
}

void Registry::hide_devices(const VisibleDevices& visible) {
  std::optional<Refusal> refusal = visible.refusal();
  try {
    visible.apply(*this, backends_, report_);
  } catch (const InvalidArgument& error) {
    refusal = error;
  } catch (const UnavailableError& error) {
    refusal = error;
  }
  if (refusal) refusal_ = std::make_unique<const Refusal>(*refusal);
  for (size_t i = 0; i < backends_.size(); ++i) backends_[i]->id = static_cast<int>(i);
}

void Registry::add_layers() {
  if (refusal_ != nullptr) return;
  try {
    const layers::Stack& stack = layers::start(environment_[Environment::kLayers]);
    for (const auto& entry : backends_) {
      // Where there are none, this is the object that it was.
      entry->backend = layers::wrap(std::move(entry->backend), entry->name, stack);
    }
  } catch (const InvalidArgument& error) {
    refusal_ = std::make_unique<const Refusal>(error);
  }
}

void Registry::start_best(std::vector<Plugin>& plugins, const std::string& name) {
  std::vector<Plugin*> builds;
  for (Plugin& plugin : plugins) {
    if (plugin.usable() && plugin.report.backend == name) builds.push_back(&plugin);
  }
  // Stable: among equals the one found first is taken.
  std::stable_sort(builds.begin(), builds.end(),
                   [](const Plugin* a, const Plugin* b) { return a->score > b->score; });
  const Plugin* winner = nullptr;
  for (Plugin* build : builds) {
    if (winner == nullptr) {
      auto entry = start_plugin(*build);
      if (entry == nullptr) continue;
      entry->note = vendor_variables(*build->desc);
      backends_.push_back(std::move(entry));
      winner = build;
      continue;
    }
    build->report.code = verdict::kDuplicate;
    build->report.text =
        fmt::format("the backend '{}' comes from {} already", name, winner->report.file);
    if (winner->score != build->score) {
      // Several builds for one backend are meant to lie side by side.
      build->report.text +=
          fmt::format(", whose score is {}; this one's is {}", winner->score, build->score);
    } else {
      build->report.remedy = "remove one of the two files";
    }
  }
}

void Registry::number_backends() {
  const auto cpu = std::find_if(backends_.begin(), backends_.end(),
                                [](const auto& entry) { return entry->name == "cpu"; });
  if (cpu != backends_.end()) {
    std::rotate(backends_.begin(), cpu, cpu + 1);
  } else {
    backends_.insert(backends_.begin(), std::make_unique<BackendEntry>());
    backends_[0]->name = "cpu";
  }
  for (size_t i = 0; i < backends_.size(); ++i) backends_[i]->id = static_cast<int>(i);
}

void Registry::settle_aliases() {
  std::set<std::string> taken;
  for (const auto& entry : backends_) taken.insert(entry->name);
  for (const auto& entry : backends_) {
    std::erase_if(entry->aliases, [&](const std::string& alias) {
      if (taken.insert(alias).second) return false;
      if (alias != entry->name) {
        log(LogLevel::kWarn, entry->name,
            fmt::format("alias '{}' is another backend's already: it is left out", alias));
      }
      return true;
    });
  }
}

const BackendEntry* Registry::find(std::string_view name) const {
  for (const auto& entry : backends_) {
    if (entry->name == name) return entry.get();
  }
  for (const auto& entry : backends_) {
    if (std::find(entry->aliases.begin(), entry->aliases.end(), name) != entry->aliases.end()) {
      return entry.get();
    }
  }
  return nullptr;
}

std::string_view Registry::canonical(std::string_view word) const {
  const auto is_name = [&](const LoadReportEntry& entry) { return entry.backend == word; };
  if (std::any_of(report_.begin(), report_.end(), is_name)) return word;
  for (const auto& [alias, backend] : aliases_) {
    if (alias == word) return backend;
  }
  return word;
}

bool Registry::knows(std::string_view word) const {
  const std::string_view name = canonical(word);
  return std::any_of(report_.begin(), report_.end(),
                     [&](const LoadReportEntry& entry) { return entry.backend == name; });
}

std::string Registry::list_devices() const {
  std::vector<std::string> names;
  for (const auto& entry : backends_) {
    const size_t count = entry->infos.size();
    if (entry->id == 0 && count > 0) names.push_back("cpu");
    if (entry->id == 0) continue;
    for (size_t i = 0; i < std::min<size_t>(count, 8); ++i) {
      names.push_back(fmt::format("{}:{}", entry->name, i));
    }
    if (count > 8) names.push_back(fmt::format("... {}:{}", entry->name, count - 1));
  }
  std::string text = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
  std::set<std::string_view> hidden;
  for (const LoadReportEntry& entry : report_) {
    if (entry.code == verdict::kHidden) hidden.insert(entry.backend);
  }
  if (hidden.empty()) return text;
  return fmt::format("{}; hidden by {}: {}", text, visible_origin_, fmt::join(hidden, ", "));
}

std::string Registry::explain_absence(std::string_view backend, bool in_list) const {
  const std::string_view name = canonical(backend);
  std::string reasons;
  for (const LoadReportEntry& entry : report_) {
    // A file whose descriptor could not be read is known by its name alone.
    const bool concerns = entry.backend.empty()
                              ? file_name(entry.file).find(name) != std::string_view::npos
                              : entry.backend == name;
    if (!concerns || entry.code == verdict::kLoaded) continue;
    reasons += fmt::format("{}{}: {} {}{}{}", reasons.empty() ? "" : "; ", entry.file, entry.code,
                           entry.text, entry.remedy.empty() ? "" : "; ", entry.remedy);
  }
  std::vector<std::string> words = {"gpu", "auto"};
  if (in_list) words = {"all", "none"};
  for (const auto& entry : backends_) {
    if (entry->infos.empty()) continue;
    words.push_back(entry->name);
    words.insert(words.end(), entry->aliases.begin(), entry->aliases.end());
  }
  for (const LoadReportEntry& entry : report_) {
    if (entry.code == verdict::kHidden) words.push_back(entry.backend);
  }
  std::string text;
  if (reasons.empty()) {
    text = fmt::format("no plugin offers the backend '{}' (looked in {})", backend,
                       places_.empty() ? "no place" : fmt::format("{}", fmt::join(places_, ", ")));
    if (const std::string near = nearest_word(backend, words); !near.empty()) {
      text += fmt::format("; did you mean '{}'?", near);
    } else {
      text += "; add the folder of its plugin to FERRY_PLUGIN_PATH";
    }
  } else {
    text = fmt::format("the backend '{}' has no usable plugin: {}", name, reasons);
  }
  return fmt::format("{} Devices here: {}", text.ends_with('?') ? text : text + ".",
                     list_devices());
}

}  // namespace ferry::runtime
