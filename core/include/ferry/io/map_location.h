// SPDX-License-Identifier: Apache-2.0
//
// MapLocation: which device a checkpoint's tensors go to.
#ifndef FERRY_IO_MAP_LOCATION_H
#define FERRY_IO_MAP_LOCATION_H

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "ferry/device.h"
#include "ferry/export.h"

namespace ferry {

/// A checkpoint tags each storage with the device it was saved from ("cpu",
/// "acme:1"). A MapLocation says where it goes instead: nothing (the device of
/// that name, which must exist here), one device for all, a table from tags to
/// devices, or a function of the tag. Where table or function say nothing, the
/// tag decides as if none had been given.
class FERRY_API MapLocation {
 public:
  using Table = std::map<std::string, Device>;
  using Function = std::function<std::optional<Device>(const std::string& tag)>;

  MapLocation() = default;
  MapLocation(const Device& device) : device_(device) {}               // NOLINT
  MapLocation(const char* device) : device_(Device(device)) {}         // NOLINT
  MapLocation(const std::string& device) : device_(Device(device)) {}  // NOLINT
  MapLocation(Table table);                                            // NOLINT
  MapLocation(std::initializer_list<Table::value_type> table) : MapLocation(Table(table)) {}
  /// Called once for each tag of the file; what it throws reaches the caller.
  template <class F, class = std::enable_if_t<
                         std::is_invocable_r_v<std::optional<Device>, F&, const std::string&>>>
  MapLocation(F function) : function_(std::move(function)) {}  // NOLINT

  /// The device for a tag; empty where its default placement holds.
  std::optional<Device> find(const std::string& tag) const;

 private:
  std::optional<Device> device_;
  Function function_;
};

}  // namespace ferry

#endif  // FERRY_IO_MAP_LOCATION_H
