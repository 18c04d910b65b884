// SPDX-License-Identifier: Apache-2.0
//
// Compares what backends tell of their devices, each in its own spelling.
#include "runtime/same_device.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "runtime/device_access.h"

namespace ferry::runtime {
namespace {

struct Known {
  Device device;
  std::string uuid, pci;
  Device first;               ///< itself, or the earlier route to the same hardware
  std::set<int> backends_of;  ///< of a first one: those that have a route to it
};

/// The earliest of `known` that is the same as `one`; null where it is new.
Known* find_same(std::vector<Known>& known, const Known& one, std::string Known::*identity) {
  if ((one.*identity).empty()) return nullptr;
  for (Known& other : known) {
    if (other.*identity != one.*identity) continue;
    const auto first = std::find_if(known.begin(), known.end(), [&](const Known& candidate) {
      return candidate.device == other.first;
    });
    if (!first->backends_of.contains(one.device.backend_id())) return &*first;
  }
  return nullptr;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string plain_uuid(std::string_view text) {
  std::string result = lower_case(text);
  if (result.starts_with("gpu-")) result.erase(0, 4);
  std::erase(result, '-');
  return result.find_first_not_of('0') == std::string::npos ? "" : result;
}

std::string plain_pci(std::string_view text) {
  std::string result = lower_case(text);
  if (std::count(result.begin(), result.end(), ':') == 1) result.insert(0, "0:");
  // Drivers write the domain with four or eight digits.
  std::string plain;
  for (size_t i = 0; i < result.size(); ++i) {
    const bool starts = plain.empty() || plain.back() == ':' || plain.back() == '.';
    const bool ends = i + 1 == result.size() || result[i + 1] == ':' || result[i + 1] == '.';
    if (result[i] != '0' || !starts || ends) plain += result[i];
  }
  return plain.find_first_not_of("0:.") == std::string::npos ? "" : plain;
}

void mark_same_devices(const std::vector<std::unique_ptr<BackendEntry>>& backends) {
  std::vector<Known> known;
  for (const auto& entry : backends) {
    entry->same_as.assign(entry->infos.size(), std::nullopt);
    if (entry->id == 0) continue;
    for (size_t i = 0; i < entry->infos.size(); ++i) {
      Known one{DeviceAccess::make(entry->id, static_cast<int>(i)),
                plain_uuid(entry->infos[i].uuid),
                plain_pci(entry->infos[i].pci),
                Device(),
                {}};
      Known* same = find_same(known, one, &Known::uuid);
      if (same == nullptr) same = find_same(known, one, &Known::pci);
      one.first = same == nullptr ? one.device : same->device;
      if (same == nullptr) {
        one.backends_of.insert(entry->id);
      } else {
        same->backends_of.insert(entry->id);
        entry->same_as[i] = same->device;
      }
      known.push_back(std::move(one));
    }
  }
}

}  // namespace ferry::runtime
