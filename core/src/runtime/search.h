// SPDX-License-Identifier: Apache-2.0
//
// Where plugins are looked for, and which files are candidates.
#ifndef FERRY_RUNTIME_SEARCH_H
#define FERRY_RUNTIME_SEARCH_H

#include <optional>
#include <string>
#include <vector>

#include "runtime/verdict.h"

namespace ferry::runtime {

/// A file to be tried, or a file or entry that was refused on sight.
struct Candidate {
  std::string file;
  std::string found_by;
  std::optional<Verdict> refused;
};

struct SearchResult {
  std::vector<Candidate> candidates;  ///< in the order of trying
  std::vector<std::string> places;    ///< folders and files looked at
};

/// Looks at `api_paths`, the entries of FERRY_PLUGIN_PATH, and the folder of
/// plugins beside this library, in this order; each entry is a folder or a
/// file. Folders are read in the order of names. A second way to one file is
/// refused. Never looks into the current directory.
SearchResult find_candidates(const std::vector<std::string>& api_paths);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_SEARCH_H
