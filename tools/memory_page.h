// SPDX-License-Identifier: Apache-2.0
//
// A saved memory history, and the page that shows it.
#ifndef FERRY_TOOLS_MEMORY_PAGE_H
#define FERRY_TOOLS_MEMORY_PAGE_H

#include <cstdint>
#include <string>
#include <vector>

#include "ferry/memory.h"

namespace ferry::tools {

/// One memory, of a device or pinned, with what was recorded of it.
struct MemoryRecord {
  struct Sample {
    double microseconds = 0;
    uint64_t allocated = 0, reserved = 0;
    uint64_t refused = 0;  ///< bytes for which there was no room; 0: none
  };
  std::string name;  ///< "acme:0", "acme:0 (pinned)"
  uint64_t total = 0;
  MemoryStats stats;
  std::vector<Sample> samples;
  std::vector<MemorySegment> segments;
};

struct MemoryHistory {
  std::vector<MemoryRecord> records;
  uint64_t events = 0, dropped = 0;
};

/// Reads a file of save_memory_history(). FileError where it is none.
MemoryHistory read_memory_history(const std::string& file);

/// A page that needs nothing else: for each memory a curve over time and a map
/// of its segments. `title` is shown as text.
std::string memory_page(const MemoryHistory& history, const std::string& title);

}  // namespace ferry::tools

#endif  // FERRY_TOOLS_MEMORY_PAGE_H
