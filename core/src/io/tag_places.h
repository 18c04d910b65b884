// SPDX-License-Identifier: Apache-2.0
//
// TagPlaces: the device of every tag in a file, known before anything is read.
#ifndef FERRY_IO_TAG_PLACES_H
#define FERRY_IO_TAG_PLACES_H

#include <string>
#include <unordered_map>
#include <vector>

#include "ferry/io/map_location.h"

namespace ferry::io {

class TagPlaces {
 public:
  /// Asks `map` once for each of `tags`. UnavailableError, naming `path`, all
  /// tags that have no device here and what to pass, where there are any.
  TagPlaces(const std::vector<std::string>& tags, const MapLocation& map, const std::string& path);

  /// `tag` is one of those.
  const Device& at(const std::string& tag) const { return places_.at(tag); }

 private:
  std::unordered_map<std::string, Device> places_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_TAG_PLACES_H
