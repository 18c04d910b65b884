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
#include "runtime/load_plugin.h"
#include "runtime/log.h"
#include "runtime/search.h"
#include "runtime/selection.h"
#include "runtime/verdict.h"

namespace ferry::runtime {
namespace {

std::atomic<Registry*> instance{nullptr};

struct Loading {
  std::mutex mutex;
  std::vector<std::string> api_paths;
};
Loading& loading() {
  static auto* const object = new Loading();
  return *object;
}
thread_local bool loading_here = false;

/// Whether a verdict is a fault of the installation, rather than a machine
/// without that hardware or a file that is meant for others.
bool is_fault(const std::string& code) {
  return code != verdict::kLoaded && code != verdict::kNotAPlugin && code != verdict::kDuplicate &&
         code != verdict::kAbsent && code != verdict::kProbeDeclined && code != verdict::kNoDevices;
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

Registry& Registry::get() {
  Registry* registry = instance.load(std::memory_order_acquire);
  return registry != nullptr ? *registry : load();
}

Registry& Registry::load() {
  if (loading_here) {
    throw InternalError("plugins", "a plugin asked for devices while the plugins are being loaded");
  }
  // Before the lock: what was logged meanwhile is delivered after its release.
  const LogHold hold;
  Loading& state = loading();
  std::lock_guard lock(state.mutex);
  if (Registry* ready = instance.load(std::memory_order_acquire)) return *ready;
  struct Mark {
    Mark() { loading_here = true; }
    ~Mark() { loading_here = false; }
  } const mark;
  auto* registry = new Registry(state.api_paths);
  instance.store(registry, std::memory_order_release);
  return *registry;
}

void Registry::add_path(const std::string& path) {
  if (!path.starts_with('/')) {
    throw InvalidArgument("add_plugin_path",
                          fmt::format("'{}' is not an absolute path; write it in full", path));
  }
  Loading& state = loading();
  std::lock_guard lock(state.mutex);
  if (instance.load(std::memory_order_acquire) != nullptr) {
    throw InvalidArgument("add_plugin_path",
                          fmt::format("'{}' comes too late: the plugins are loaded already; call "
                                      "this before the first use of a device",
                                      path));
  }
  state.api_paths.push_back(path);
}

Registry::Registry(const std::vector<std::string>& api_paths) {
  SearchResult found = find_candidates(api_paths);
  places_ = std::move(found.places);
  std::vector<Plugin> plugins;
  for (const Candidate& candidate : found.candidates) plugins.push_back(open_plugin(candidate));
  std::set<std::string> names;
  for (size_t i = 0; i < plugins.size(); ++i) {
    const std::string name = plugins[i].report.backend;
    if (plugins[i].usable() && names.insert(name).second) start_best(plugins, name);
  }
  number_backends();
  settle_aliases();
  for (Plugin& plugin : plugins) {
    log_entry(plugin.report);
    if (find(plugin.report.backend) == nullptr) {
      for (auto& alias : plugin.aliases) absent_aliases_.emplace_back(alias, plugin.report.backend);
    }
    report_.push_back(std::move(plugin.report));
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
  for (const auto& [alias, backend] : absent_aliases_) {
    if (alias == word) return backend;
  }
  return word;
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
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string Registry::explain_absence(std::string_view backend) const {
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
  for (const auto& entry : backends_) {
    if (entry->infos.empty()) continue;
    words.push_back(entry->name);
    words.insert(words.end(), entry->aliases.begin(), entry->aliases.end());
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
