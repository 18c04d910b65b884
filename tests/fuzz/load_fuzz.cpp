// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: any bytes as a checkpoint. Start it with the folder
// tests/io/fixtures as corpus.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <unistd.h>

#include "ferry/error.h"
#include "ferry/io/load.h"

namespace {

// In memory where the system has such a folder.
std::string scratch_file() {
  std::string name = (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") +
                     std::string("/ferry-load-fuzz-XXXXXX");
  const int fd = mkstemp(name.data());
  if (fd < 0) std::abort();
  close(fd);
  return name;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = scratch_file();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    (void)ferry::load(path, ferry::Device()).str();
  } catch (const ferry::FileError&) {
    // The one right way to refuse a file when all goes to the CPU, but for size.
  } catch (const ferry::OutOfMemoryError&) {
  }
  return 0;
}
