// SPDX-License-Identifier: Apache-2.0
//
// Hiding devices, and numbering again those that are left.
#include "runtime/visible.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/environment.h"
#include "runtime/pick_devices.h"
#include "runtime/verdict.h"

namespace ferry::runtime {
namespace {

/// A backend with some of its devices, in another order.
class PartOfBackend final : public hal::Backend {
 public:
  PartOfBackend(std::unique_ptr<hal::Backend> whole, std::vector<uint32_t> indices)
      : whole_(std::move(whole)), indices_(std::move(indices)) {}

  uint32_t count() override { return static_cast<uint32_t>(indices_.size()); }
  hal::Status info(uint32_t index, ferry_device_info* info) override {
    return whole_->info(indices_.at(index), info);
  }
  hal::Status open(uint32_t index, std::unique_ptr<hal::Device>* device) override {
    return whole_->open(indices_.at(index), device);
  }
  bool peer_access(uint32_t target, uint32_t source) override {
    return whole_->peer_access(indices_.at(target), indices_.at(source));
  }
  std::span<const hal::Kernel* const> kernels() override { return whole_->kernels(); }
  void quiesce() override { whole_->quiesce(); }

 private:
  const std::unique_ptr<hal::Backend> whole_;
  const std::vector<uint32_t> indices_;
};

/// The plugin name that `word` means: a name before an alias, the first before
/// the next. Empty where no plugin has it.
std::string_view name_of(std::string_view word, const std::vector<Plugin>& plugins) {
  const Plugin* found = nullptr;
  for (const Plugin& plugin : plugins) {
    if (plugin.report.backend == word) return plugin.report.backend;
    if (found == nullptr &&
        std::find(plugin.aliases.begin(), plugin.aliases.end(), word) != plugin.aliases.end()) {
      found = &plugin;
    }
  }
  return found == nullptr ? std::string_view() : found->report.backend;
}

void keep_only(BackendEntry& entry, const std::vector<uint32_t>& indices) {
  const std::vector<ferry_device_info> infos = std::move(entry.infos);
  entry.infos.clear();
  for (const uint32_t index : indices) entry.infos.push_back(infos[index]);
  entry.plugin_indices = indices;
  entry.backend = std::make_unique<PartOfBackend>(std::move(entry.backend), indices);
}

}  // namespace

void Refusal::rethrow() const {
  if (absent_) throw UnavailableError(text_);
  throw InvalidArgument(text_);
}

VisibleDevices::VisibleDevices(const std::optional<std::string>& value, std::string origin)
    : origin_(std::move(origin)), set_(value.has_value()) {
  if (!set_) return;
  try {
    list_ = parse_device_list(*value, origin_);
  } catch (const InvalidArgument& error) {
    list_ = {origin_, *value, {}};
    refusal_ = error;
  }
}

std::string VisibleDevices::setting() const {
  return fmt::format("{}='{}'", origin_, printable(list_.text));
}

void VisibleDevices::hide_unwanted(std::vector<Plugin>& plugins) const {
  if (!set_) return;
  bool includes = list_.terms.empty(), includes_all = false;
  std::vector<std::string_view> named, excluded;
  for (const ListTerm& term : list_.terms) {
    includes |= !term.exclude;
    includes_all |= !term.exclude && term.backend == "all";
    if (!term.exclude) named.push_back(name_of(term.backend, plugins));
    if (term.exclude && term.items.empty()) excluded.push_back(name_of(term.backend, plugins));
  }
  const auto has = [](const std::vector<std::string_view>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (Plugin& plugin : plugins) {
    const std::string& name = plugin.report.backend;
    const bool in = !includes || includes_all || has(named, name);
    if (!plugin.usable() || name == "cpu" || (in && !has(excluded, name))) continue;
    plugin.report.code = verdict::kHidden;
    plugin.report.text =
        refusal_ ? fmt::format("it was not started: {} cannot be read", setting())
                 : fmt::format("it was not started: {} {} '{}'", setting(),
                               in || list_.terms.empty() ? "hides" : "does not name", name);
    plugin.report.remedy = refusal_ ? fmt::format("correct {}", origin_)
                           : in ? fmt::format("take the term that excludes it out of {}", origin_)
                                : fmt::format("name '{}' in {}, or unset that", name, origin_);
  }
}

void VisibleDevices::refuse_to_hide_the_cpu(const Registry& registry) const {
  for (const ListTerm& term : list_.terms) {
    const BackendEntry* entry = registry.find(term.backend);
    if (!term.exclude || entry == nullptr || entry->id != 0) continue;
    throw InvalidArgument(
        origin_, underlined("the CPU is always there and cannot be hidden; take this term out",
                            list_.text, term.span));
  }
}

void VisibleDevices::apply(const Registry& registry,
                           std::vector<std::unique_ptr<BackendEntry>>& backends,
                           std::vector<LoadReportEntry>& report) const {
  if (!set_ || refusal_) return;
  refuse_to_hide_the_cpu(registry);
  std::map<int, std::vector<uint32_t>> visible;
  for (const Picked& device : pick_devices(list_, registry)) {
    visible[device.backend].push_back(device.index);
  }
  for (const auto& entry : backends) {
    if (entry->id == 0) continue;
    const std::vector<uint32_t>& kept = visible[entry->id];
    std::vector<uint32_t> hidden;
    for (uint32_t i = 0; i < entry->infos.size(); ++i) {
      if (std::find(kept.begin(), kept.end(), i) == kept.end()) hidden.push_back(i);
    }
    if (hidden.empty() && std::is_sorted(kept.begin(), kept.end())) continue;
    keep_only(*entry, kept);
    if (hidden.empty()) continue;
    LoadReportEntry& line = *std::find_if(report.begin(), report.end(), [&](const auto& candidate) {
      return candidate.code == verdict::kLoaded && candidate.backend == entry->name;
    });
    line.devices = static_cast<int>(kept.size());
    if (kept.empty()) {
      line.code = verdict::kHidden;
      line.text = fmt::format("{} hides {} of its {} device{}", setting(),
                              hidden.size() == 1 ? "the one" : "all", hidden.size(),
                              hidden.size() == 1 ? "" : "s");
      line.remedy = fmt::format("name one of them in {}, or unset that", origin_);
      continue;
    }
    entry->note += fmt::format(", and {} more {} hidden by {}", hidden.size(),
                               hidden.size() == 1 ? "is" : "are", origin_);
    line.text += fmt::format(", and {} hides {} more (its {})", setting(), hidden.size(),
                             fmt::join(hidden, ", "));
  }
  std::erase_if(backends, [](const auto& entry) { return entry->id != 0 && entry->infos.empty(); });
}

std::string vendor_variables(const ferry_plugin_desc& desc) {
  constexpr size_t kMaxLength = 512;
  std::string text;
  if (desc.visible_env == nullptr) return text;
  const std::string names(desc.visible_env, strnlen(desc.visible_env, kMaxLength));
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    const std::string name = names.substr(begin, end - begin);
    if (const auto value = environment_variable(name.c_str())) {
      text += fmt::format("; {}='{}' is set", printable(name), printable(*value));
    }
    begin = end + 1;
  }
  return text;
}

}  // namespace ferry::runtime
