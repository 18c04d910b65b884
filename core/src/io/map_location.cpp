// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of a file go, by the tags of their storages.
#include "ferry/io/map_location.h"

#include <algorithm>

#include <fmt/format.h>

#include "ferry/error.h"
#include "io/tag_places.h"
#include "io/text.h"

namespace ferry {
namespace {

/// "acme" and "acme:0" are one device.
std::string with_index(const std::string& tag) {
  return tag.find(':') == std::string::npos ? tag + ":0" : tag;
}

}  // namespace

MapLocation::MapLocation(Table table)
    : function_([table = std::move(table)](const std::string& tag) -> std::optional<Device> {
        if (const auto found = table.find(tag); found != table.end()) return found->second;
        for (const auto& [key, device] : table) {
          if (with_index(key) == with_index(tag)) return device;
        }
        return std::nullopt;
      }) {}

std::optional<Device> MapLocation::find(const std::string& tag) const {
  if (device_) return device_;
  return function_ ? function_(tag) : std::nullopt;
}

namespace io {
namespace {

constexpr const char* kWhere = "load";

std::string devices_here() {
  std::string text;
  for (const DeviceProperties& p : devices()) {
    text += (text.empty() ? "" : ", ") + p.device.str();
  }
  return text.empty() ? "none" : text;
}

}  // namespace

TagPlaces::TagPlaces(const std::vector<std::string>& tags, const MapLocation& map,
                     const std::string& path) {
  std::string absent, reason;
  for (const std::string& tag : tags) {
    if (places_.count(tag) != 0) continue;
    Device device;
    if (const auto chosen = map.find(tag)) {
      device = *chosen;
    } else if (with_index(tag) != "cpu:0") {
      try {
        device = Device(tag);
      } catch (const Error& e) {
        absent += (absent.empty() ? "" : ", ") + in_quotes(tag);
        if (reason.empty()) reason = e.what();
      }
    }
    places_.emplace(tag, device);
  }
  if (absent.empty()) return;
  throw UnavailableError(
      kWhere, fmt::format("{} was saved from devices that are not here: {}. Devices here: {}. Say "
                          "where its tensors should go, as in load(path, Device(\"cpu\")). In "
                          "detail: {}",
                          in_quotes(path, 4096), absent, devices_here(), reason));
}

}  // namespace io
}  // namespace ferry
