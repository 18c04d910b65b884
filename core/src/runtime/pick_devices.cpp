// SPDX-License-Identifier: Apache-2.0
//
// Finds the devices of a list by index, UUID, PCI address or architecture.
#include "runtime/pick_devices.h"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "ferry/error.h"
#include "runtime/same_device.h"

namespace ferry::runtime {
namespace {

using By = ListItem::By;

class Picker {
 public:
  Picker(const DeviceList& list, const Registry& registry) : list_(list), registry_(registry) {}

  std::vector<Picked> pick() {
    if (list_.terms.empty()) return {};
    const bool only_excludes = std::all_of(list_.terms.begin(), list_.terms.end(),
                                           [](const ListTerm& term) { return term.exclude; });
    if (only_excludes) include_everything({});
    for (const ListTerm& term : list_.terms) {
      if (!term.exclude) include(term);
    }
    std::set<Picked> excluded;
    for (const ListTerm& term : list_.terms) {
      if (term.exclude) exclude(term, excluded);
    }
    std::erase_if(picked_, [&](const Picked& device) { return excluded.contains(device); });
    return std::move(picked_);
  }

 private:
  template <class Exception>
  [[noreturn]] void refuse(Span span, const std::string& reason) const {
    throw Exception(list_.origin, underlined(reason, list_.text, span));
  }

  std::string devices_here() const { return "Devices here: " + registry_.list_devices(); }

  void add(const BackendEntry& entry, uint32_t index, Span span) {
    if (seen_.insert({entry.id, index}).second) {
      picked_.push_back({entry.id, index});
      return;
    }
    refuse<InvalidArgument>(
        span, fmt::format("{}:{} is named twice; take one of the two out", entry.name, index));
  }

  void include_everything(Span span) {
    for (const auto& entry : registry_.backends()) include_backend(*entry, span);
  }
  void include_backend(const BackendEntry& entry, Span span) {
    for (uint32_t i = 0; i < entry.infos.size(); ++i) add(entry, i, span);
  }

  void include(const ListTerm& term) {
    if (term.backend == "all") return include_everything(term.span);
    const BackendEntry* entry = registry_.find(term.backend);
    if (entry == nullptr || entry->infos.empty()) {
      refuse<UnavailableError>(term.backend_span, registry_.explain_absence(term.backend, true));
    }
    if (term.items.empty()) return include_backend(*entry, term.span);
    for (const ListItem& item : term.items) {
      for (const uint32_t index : matches(*entry, item)) add(*entry, index, item.span);
    }
  }

  void exclude(const ListTerm& term, std::set<Picked>& excluded) const {
    const BackendEntry* entry = registry_.find(term.backend);
    if (entry == nullptr) {
      // What a plugin could not offer is as absent as was wished. A name that
      // nothing has is a misspelling, and would leave that device in.
      if (registry_.knows(term.backend)) return;
      refuse<UnavailableError>(term.backend_span, registry_.explain_absence(term.backend, true));
    }
    for (uint32_t i = 0; term.items.empty() && i < entry->infos.size(); ++i) {
      excluded.insert({entry->id, i});
    }
    for (const ListItem& item : term.items) {
      for (const uint32_t index : matches(*entry, item)) excluded.insert({entry->id, index});
    }
  }

  std::vector<uint32_t> matches(const BackendEntry& entry, const ListItem& item) const {
    return item.by == By::kIndex ? by_index(entry, item) : by_text(entry, item);
  }

  std::vector<uint32_t> by_index(const BackendEntry& entry, const ListItem& item) const {
    const auto count = static_cast<int64_t>(entry.infos.size());
    if (item.last >= count) {
      refuse<UnavailableError>(
          item.span, fmt::format("there is no device '{}:{}': '{}' has {} device{}{}. {}",
                                 entry.name, std::max(item.first, count), entry.name, count,
                                 count == 1 ? "" : "s", entry.note, devices_here()));
    }
    std::vector<uint32_t> indices;
    for (int64_t i = item.first; i <= item.last; ++i) indices.push_back(static_cast<uint32_t>(i));
    return indices;
  }

  std::vector<uint32_t> by_text(const BackendEntry& entry, const ListItem& item) const {
    const auto form = [&](std::string_view text) {
      return item.by == By::kPci ? plain_pci(text) : lower_case(text);
    };
    const std::string wanted = form(item.text);
    std::vector<uint32_t> equal, begun, known;
    for (uint32_t i = 0; i < entry.infos.size(); ++i) {
      const std::string_view text = told(entry.infos[i], item.by);
      if (text.empty()) continue;
      known.push_back(i);
      if (form(text) == wanted) equal.push_back(i);
      // Of a UUID so many characters are enough as tell it from the others.
      if (item.by == By::kUuid && form(text).starts_with(wanted)) begun.push_back(i);
    }
    if (equal.empty()) equal = begun;
    if (equal.empty()) {
      refuse<UnavailableError>(
          item.span, fmt::format("no device of '{}' has this {}: {}", entry.name, word(item.by),
                                 known.empty() ? "they tell none"
                                               : "they have " + told_list(entry, item.by, known)));
    }
    if (equal.size() > 1 && item.by != By::kArch) {
      refuse<InvalidArgument>(
          item.span, fmt::format("{} devices have this {}: {}; write more of it, or an index",
                                 equal.size(), word(item.by), told_list(entry, item.by, equal)));
    }
    return equal;
  }

  static const char* word(By by) {
    return by == By::kUuid ? "UUID" : by == By::kPci ? "PCI address" : "architecture";
  }
  static std::string_view told(const ferry_device_info& info, By by) {
    return by == By::kUuid ? info.uuid : by == By::kPci ? info.pci : info.arch;
  }
  static std::string told_list(const BackendEntry& entry, By by,
                               const std::vector<uint32_t>& indices) {
    std::string text;
    for (const uint32_t i : indices) {
      text += fmt::format("{}{} ({}:{})", text.empty() ? "" : ", ", told(entry.infos[i], by),
                          entry.name, i);
    }
    return text;
  }

  const DeviceList& list_;
  const Registry& registry_;
  std::vector<Picked> picked_;
  std::set<Picked> seen_;
};

}  // namespace

std::vector<Picked> pick_devices(const DeviceList& list, const Registry& registry) {
  return Picker(list, registry).pick();
}

}  // namespace ferry::runtime
