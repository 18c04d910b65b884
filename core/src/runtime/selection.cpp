// SPDX-License-Identifier: Apache-2.0
//
// Parsing device names strictly, and finding the device that is meant.
#include "runtime/selection.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "ferry/error.h"
#include "runtime/device_access.h"
#include "runtime/device_list.h"
#include "runtime/environment.h"
#include "runtime/load_plugin.h"
#include "runtime/log.h"
#include "runtime/registry.h"

namespace ferry::runtime {
namespace {

[[noreturn]] void refuse(std::string_view text, const char* where, const std::string& reason) {
  throw InvalidArgument(
      where, fmt::format("'{}' is no device name: {}; write 'backend' or 'backend:index', as in "
                         "'cpu' or 'acme:1'",
                         printable(text), reason));
}

/// Discrete GPUs, other accelerators, integrated GPUs, simulated devices.
int kind_rank(uint32_t kind) noexcept {
  switch (kind) {
    case FERRY_KIND_GPU:
      return 0;
    case FERRY_KIND_ACCELERATOR:
      return 1;
    case FERRY_KIND_GPU_INTEGRATED:
      return 2;
    case FERRY_KIND_SIMULATED:
      return 3;
    default:
      return 4;
  }
}
constexpr int kNoAccelerator = 4;

Device choose_auto(const char* where) {
  if (const auto device = first_accelerator()) return *device;
  const Registry& registry = Registry::get();
  if (registry.backends()[0]->infos.empty()) {
    throw UnavailableError(
        where, "'auto': there is no accelerator, and " + registry.explain_absence("cpu"));
  }
  static std::atomic_flag said;
  if (!said.test_and_set()) {
    log(LogLevel::kWarn, "runtime", "'auto' takes the CPU: there is no accelerator here");
  }
  return Device();
}

/// Why no device answers to "gpu".
std::string explain_no_accelerator() {
  const Registry& registry = Registry::get();
  std::string text =
      fmt::format("'gpu': no accelerator was found. Devices here: {}", registry.list_devices());
  for (const LoadReportEntry& entry : registry.report()) {
    if (entry.backend.empty() || registry.find(entry.backend) != nullptr) continue;
    text += fmt::format("; {}: {} {}", entry.file, entry.code, entry.text);
  }
  return text;
}

Device choose_from_list(const std::string& list) {
  constexpr const char* kWhere = "FERRY_DEVICE";
  std::vector<DeviceTerm> terms;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    terms.push_back(parse_term(std::string_view(list).substr(begin, end - begin), kWhere));
    begin = end + 1;
  }
  std::string reasons;
  for (const DeviceTerm& term : terms) {
    try {
      return resolve(term, kWhere);
    } catch (const UnavailableError& e) {
      if (terms.size() == 1) throw;
      reasons += reasons.empty() ? e.what() : std::string("; ") + e.what();
    }
  }
  throw UnavailableError(kWhere, fmt::format("none of '{}' is here: {}", printable(list), reasons));
}

}  // namespace

DeviceTerm parse_term(std::string_view text, const char* where) {
  if (text.empty()) refuse(text, where, "it is empty");
  if (std::any_of(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\t'; })) {
    refuse(text, where, "it has a space in it");
  }
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  if (!is_backend_name(name)) {
    refuse(text, where,
           name.empty() ? "there is no backend before the ':'"
                        : fmt::format("the backend '{}' is not made of a-z, 0-9 and '_' with a "
                                      "letter first",
                                      printable(name)));
  }
  if (name == "meta") refuse(text, where, "'meta' is reserved");
  if (name == "all" || name == "none") {
    refuse(text, where, fmt::format("'{}' stands in lists of devices only", name));
  }
  DeviceTerm term{std::string(name), 0};
  if (colon == std::string_view::npos) return term;
  if (is_reserved_name(name)) {
    refuse(text, where, fmt::format("'{}' chooses the index itself and takes none", name));
  }
  const std::string fault = read_index(text.substr(colon + 1), &term.index);
  if (!fault.empty()) refuse(text, where, fault + " after the ':'");
  return term;
}

Device resolve(const DeviceTerm& term, const char* where) {
  if (term.backend == "auto") return choose_auto(where);
  if (term.backend == "gpu") {
    if (const auto device = first_accelerator()) return *device;
    throw UnavailableError(where, explain_no_accelerator());
  }
  const Registry& registry = Registry::get_for_question();
  const BackendEntry* entry = registry.find(term.backend);
  if (entry == nullptr || entry->infos.empty()) {
    throw UnavailableError(where, fmt::format("there is no device '{}:{}': {}", term.backend,
                                              term.index, registry.explain_absence(term.backend)));
  }
  const int64_t count = static_cast<int64_t>(entry->infos.size());
  if (term.index >= count) {
    throw UnavailableError(
        where, fmt::format("there is no device '{}:{}': '{}' has {} device{}{}. Devices here: {}",
                           term.backend, term.index, entry->name, count, count == 1 ? "" : "s",
                           entry->note, registry.list_devices()));
  }
  return DeviceAccess::make(entry->id, static_cast<int>(term.index));
}

bool is_accelerator(uint32_t kind) noexcept { return kind_rank(kind) < kNoAccelerator; }

std::optional<Device> first_accelerator() {
  std::optional<Device> best;
  int best_rank = kNoAccelerator;
  for (const auto& entry : Registry::get().backends()) {
    if (entry->id == 0) continue;
    uint32_t best_priority = 0;
    for (size_t i = 0; i < entry->infos.size(); ++i) {
      const ferry_device_info& info = entry->infos[i];
      const int rank = kind_rank(info.kind);
      // Priorities compare within one plugin only.
      const bool same_backend = best && best->backend_id() == entry->id;
      if (rank < best_rank || (rank < kNoAccelerator && rank == best_rank && same_backend &&
                               info.priority > best_priority)) {
        best = DeviceAccess::make(entry->id, static_cast<int>(i));
        best_rank = rank;
        best_priority = info.priority;
      }
    }
  }
  return best;
}

int count_accelerators() {
  std::set<std::pair<int, int>> hardware;
  for (const auto& entry : Registry::get().backends()) {
    if (entry->id == 0) continue;
    for (size_t i = 0; i < entry->infos.size(); ++i) {
      if (!is_accelerator(entry->infos[i].kind)) continue;
      const Device first =
          entry->same_as[i].value_or(DeviceAccess::make(entry->id, static_cast<int>(i)));
      hardware.emplace(first.backend_id(), first.index());
    }
  }
  return static_cast<int>(hardware.size());
}

Device choose_default_device() {
  const auto& list = Registry::get().environment()[Environment::kDevice];
  if (!list || list->empty()) return Device();
  constexpr uint32_t kUnknown = UINT32_MAX;
  static std::atomic<uint32_t> chosen{kUnknown};
  const uint32_t known = chosen.load(std::memory_order_relaxed);
  if (known != kUnknown) {
    return DeviceAccess::make(static_cast<int>(known >> 16), static_cast<int>(known & 0xffff));
  }
  const Device device = choose_from_list(*list);
  chosen.store(
      static_cast<uint32_t>(device.backend_id()) << 16 | static_cast<uint32_t>(device.index()),
      std::memory_order_relaxed);
  return device;
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  // More changes than that, and it is another word.
  size_t best_distance = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : words) {
    std::vector<size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 0; i < word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i + 1;
      for (size_t j = 0; j < candidate.size(); ++j) {
        const size_t replaced = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace ferry::runtime
