// SPDX-License-Identifier: Apache-2.0
//
// TraceFile: one write for each event.
#include "runtime/layers/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ferry/error.h"
#include "runtime/log.h"

namespace ferry::runtime::layers {

TraceFile::TraceFile(const std::string& path) : path_(path), process_(getpid()) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw InvalidArgument("FERRY_TRACE_FILE", "cannot create '" + path +
                                                  "': " + std::strerror(errno) +
                                                  "; name a file in a folder that can be written");
  }
  (void)put("[");
}

bool TraceFile::put(const std::string& text) {
  const char* at = text.data();
  size_t left = text.size();
  while (left > 0) {
    const ssize_t n = ::write(file_, at, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    left -= static_cast<size_t>(n);
  }
  return true;
}

void TraceFile::write(const nlohmann::ordered_json& event) {
  using nlohmann::ordered_json;
  // The forked child shares the file and must not write between the parent's events.
  if (getpid() != process_) return;
  std::string text = event.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    if (file_ < 0) return;
    if (put((first_ ? "\n" : ",\n") + text)) {
      first_ = false;
      return;
    }
    why = std::strerror(errno);
    ::close(file_);
    file_ = -1;
  }
  log(LogLevel::kError, "trace", "cannot write '" + path_ + "': " + why + "; the trace ends here");
}

void TraceFile::close() {
  if (getpid() != process_) return;
  const std::lock_guard lock(mutex_);
  if (file_ < 0) return;
  (void)put("\n]\n");
  ::close(file_);
  file_ = -1;
}

}  // namespace ferry::runtime::layers
