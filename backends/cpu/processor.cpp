// SPDX-License-Identifier: Apache-2.0
//
// Reads /proc and the cgroup's files; all of them may be absent.
#include "processor.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

namespace ferry::cpu {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

/// The value after "key :" in a file of such lines, or empty.
std::string value_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? std::string() : line.substr(begin);
  }
  return {};
}

/// The number in a file, kNoLimit for "max" and where there is none.
uint64_t number_in(const std::string& file) {
  std::ifstream in(file);
  uint64_t value = 0;
  return in >> value ? value : kNoLimit;
}

/// The folder of this process's cgroup, version 2; else the root of it.
std::string cgroup_folder() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, 3, "0::") == 0) return "/sys/fs/cgroup" + line.substr(3);
  }
  return "/sys/fs/cgroup";
}

/// Processors that the cgroup's quota is worth, as a real number.
double cgroup_processors() {
  double least = std::numeric_limits<double>::infinity();
  std::string folder = cgroup_folder();
  // A parent's quota holds for its children.
  while (folder.size() >= sizeof "/sys/fs/cgroup" - 1) {
    std::ifstream in(folder + "/cpu.max");
    std::string quota;
    double period = 0;
    if (in >> quota >> period && quota != "max" && period > 0) {
      least = std::min(least, std::strtod(quota.c_str(), nullptr) / period);
    }
    folder.erase(folder.find_last_of('/'));
  }
  const uint64_t quota = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const uint64_t period = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota != kNoLimit && period != kNoLimit && period > 0) {
    least = std::min(least, static_cast<double>(quota) / static_cast<double>(period));
  }
  return least;
}

struct CgroupMemory {
  uint64_t limit = kNoLimit, used = 0;
};
CgroupMemory cgroup_memory() {
  CgroupMemory out;
  const std::string folder = cgroup_folder();
  out.limit = number_in(folder + "/memory.max");
  const uint64_t used = number_in(folder + "/memory.current");
  if (out.limit == kNoLimit) {
    out.limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    out.used = number_in("/sys/fs/cgroup/memory/memory.usage_in_bytes");
  } else {
    out.used = used;
  }
  if (out.used == kNoLimit) out.used = 0;
  return out;
}

uint64_t meminfo(const char* key) {
  return std::strtoull(value_of("/proc/meminfo", key).c_str(), nullptr, 10) * 1024;
}

}  // namespace

int usable_processors() {
  cpu_set_t set;
  int count = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    count = CPU_COUNT(&set);
  } else {
    count = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  }
  const double quota = cgroup_processors();
  if (quota < count) count = static_cast<int>(std::ceil(quota));
  return std::max(count, 1);
}

std::string processor_name() {
  std::string name = value_of("/proc/cpuinfo", "model name");
  if (!name.empty()) return name;
  utsname system{};
  return uname(&system) == 0 ? std::string(system.machine) + " processor" : "processor";
}

std::string processor_vendor() {
  std::string id = value_of("/proc/cpuinfo", "vendor_id");
  if (id == "GenuineIntel") return "Intel";
  if (id == "AuthenticAMD") return "AMD";
  return id;
}

uint64_t memory_total() { return std::min(meminfo("MemTotal"), cgroup_memory().limit); }

uint64_t memory_free() {
  const CgroupMemory group = cgroup_memory();
  const uint64_t left = group.limit > group.used ? group.limit - group.used : 0;
  return std::min(meminfo("MemAvailable"), left);
}

}  // namespace ferry::cpu
