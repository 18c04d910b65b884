// SPDX-License-Identifier: Apache-2.0
//
// Finds candidate files and tells two names of one file apart from two files.
#include "runtime/search.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ferry::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuffix = ".so";

/// The file that the mapping at `address` comes from, or empty.
std::string mapped_file(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end;
    if (wanted < begin || wanted >= end) continue;
    const size_t path = line.find('/');
    return path == std::string::npos ? "" : line.substr(path);
  }
  return "";
}

/// The folder of plugins that belongs to this library, or empty.
std::string folder_beside_library() {
  Dl_info info{};
  const void* self = reinterpret_cast<const void*>(&find_candidates);
  if (::dladdr(self, &info) == 0 || info.dli_fname == nullptr) return "";
  std::string file = info.dli_fname;
  // A relative name means what it meant when the library was loaded; the
  // current directory may have changed since.
  if (!file.starts_with('/')) file = mapped_file(self);
  if (file.empty()) return "";
  std::error_code ec;
  fs::path folder = fs::path(file).parent_path() / FERRY_PLUGIN_SUBDIR;
  if (fs::is_directory(folder, ec)) return folder.string();
  // The library may have been reached through a link into another folder.
  const fs::path real = fs::canonical(file, ec);
  if (!ec) folder = real.parent_path() / FERRY_PLUGIN_SUBDIR;
  return folder.string();
}

class Search {
 public:
  /// `strict`: the user named this place, so whatever in it is no library is
  /// worth a line.
  void add_place(const std::string& place, const std::string& found_by, bool strict) {
    if (place.empty()) return;
    if (!place.starts_with('/')) {
      refuse(place, found_by,
             {verdict::kAbsent, "a relative path is not used: it depends on the current directory",
              "write an absolute path"});
      return;
    }
    result_.places.push_back(place);
    struct stat info {};
    if (::stat(place.c_str(), &info) != 0) {
      refuse(place, found_by,
             {verdict::kAbsent, fmt::format("cannot look there: {}", std::strerror(errno)), ""});
    } else if (S_ISDIR(info.st_mode)) {
      add_folder(place, found_by, strict);
    } else {
      add_file(place, found_by);
    }
  }

  SearchResult take() { return std::move(result_); }

 private:
  void refuse(const std::string& file, const std::string& found_by, Verdict verdict) {
    result_.candidates.push_back({file, found_by, std::move(verdict)});
  }

  void add_folder(const std::string& folder, const std::string& found_by, bool strict) {
    std::error_code ec;
    std::vector<std::string> files;
    for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
      files.push_back(it->path().string());
    }
    if (ec) {
      refuse(folder, found_by,
             {verdict::kAbsent, fmt::format("cannot read the folder: {}", ec.message()), ""});
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      if (file.ends_with(kSuffix)) {
        if (!fs::is_directory(file, ec)) add_file(file, found_by);
      } else if (strict && fs::is_regular_file(file, ec)) {
        refuse(file, found_by,
               {verdict::kNotAPlugin, fmt::format("the name does not end in {}", kSuffix), ""});
      }
    }
  }

  void add_file(const std::string& file, const std::string& found_by) {
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) {
      refuse(file, found_by,
             {verdict::kAbsent, fmt::format("cannot look at the file: {}", std::strerror(errno)),
              "a link may lead nowhere"});
      return;
    }
    if (!S_ISREG(info.st_mode)) {
      refuse(file, found_by, {verdict::kNotAPlugin, "it is not a regular file", ""});
      return;
    }
    const auto [known, fresh] = seen_.try_emplace({info.st_dev, info.st_ino}, file);
    if (!fresh) {
      refuse(file, found_by,
             {verdict::kDuplicate, fmt::format("it is the same file as {}", known->second), ""});
      return;
    }
    result_.candidates.push_back({file, found_by, std::nullopt});
  }

  SearchResult result_;
  std::map<std::pair<dev_t, ino_t>, std::string> seen_;
};

}  // namespace

SearchResult find_candidates(const std::vector<std::string>& api_paths) {
  Search search;
  for (const std::string& path : api_paths) search.add_place(path, "add_plugin_path", true);
  if (const char* value = secure_getenv("FERRY_PLUGIN_PATH")) {
    std::istringstream entries{std::string(value)};
    for (std::string entry; std::getline(entries, entry, ':');) {
      search.add_place(entry, "FERRY_PLUGIN_PATH", true);
    }
  }
  search.add_place(folder_beside_library(), "beside libferry", false);
  return search.take();
}

}  // namespace ferry::runtime
