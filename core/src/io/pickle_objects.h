// SPDX-License-Identifier: Apache-2.0
//
// What a pickle builds, before it becomes Values: objects in one array that
// name each other by number, so that sharing and cycles are harmless.
#ifndef FERRY_IO_PICKLE_OBJECTS_H
#define FERRY_IO_PICKLE_OBJECTS_H

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ferry::io {

/// Number of an object in the array.
using Ref = uint32_t;

struct PickleNone {};
struct PickleList {
  std::vector<Ref> items;
};
struct PickleTuple {
  std::vector<Ref> items;
};
struct PickleDict {
  std::vector<std::pair<Ref, Ref>> items;
};
/// A number in a table of the pickle's host: a name that the pickle imported,
/// a storage, a tensor.
struct PickleGlobal {
  uint32_t index;
};
struct PickleStorage {
  uint32_t index;
  /// The part of it that is meant, in elements.
  int64_t offset = 0, count = 0;
};
struct PickleTensor {
  uint32_t index;
};

using PickleObject =
    std::variant<PickleNone, bool, int64_t, double, std::string, PickleList, PickleTuple,
                 PickleDict, PickleGlobal, PickleStorage, PickleTensor>;
using PickleObjects = std::vector<PickleObject>;

/// "a list", "an int", ...
const char* words_for(const PickleObject& object) noexcept;

}  // namespace ferry::io

#endif  // FERRY_IO_PICKLE_OBJECTS_H
