// SPDX-License-Identifier: Apache-2.0
//
// TraceFile: a file of Chrome trace events that can be read at any moment.
#ifndef FERRY_RUNTIME_LAYERS_TRACE_FILE_H
#define FERRY_RUNTIME_LAYERS_TRACE_FILE_H

#include <sys/types.h>

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ferry::runtime::layers {

/// An array of JSON objects. Each is written whole and at once, so that a
/// process that is killed leaves all of them and lacks the closing bracket only.
/// Thread-safe; nothing is kept in memory.
class TraceFile {
 public:
  /// InvalidArgument where it cannot be created.
  explicit TraceFile(const std::string& path);
  ~TraceFile() { close(); }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  /// Dropped after close(), in a forked child, and once the disk is full, which
  /// is logged.
  void write(const nlohmann::ordered_json& event);
  void close();

 private:
  bool put(const std::string& text);

  std::mutex mutex_;
  std::string path_;
  pid_t process_;
  int file_ = -1;
  bool first_ = true;
};

}  // namespace ferry::runtime::layers

#endif  // FERRY_RUNTIME_LAYERS_TRACE_FILE_H
