// SPDX-License-Identifier: Apache-2.0
//
// What the tests of real-world cases share. Each bears the id of its case: TO is
// movement, MM memory, DV devices.
#ifndef FERRY_TESTS_CASES_CASES_H
#define FERRY_TESTS_CASES_CASES_H

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "common.h"

namespace ferry::test {

/// Runs on every device, on simulated ones eager, lazy and with jitter.
class Cases : public OnDevice {};

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A file that is gone after the test.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& suffix) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ferry-case-XXXXXX").string();
    const int file = mkstemp(pattern.data());
    if (file >= 0) (void)std::fclose(fdopen(file, "w"));
    std::filesystem::remove(pattern);
    path_ = pattern + suffix;
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace ferry::test

#endif  // FERRY_TESTS_CASES_CASES_H
