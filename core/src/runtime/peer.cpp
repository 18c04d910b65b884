// SPDX-License-Identifier: Apache-2.0
//
// The proof of peer copies, once for each ordered pair.
#include "runtime/peer.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ferry/error.h"
#include "runtime/host_services.h"
#include "runtime/log.h"
#include "runtime/registry.h"
#include "runtime/submission.h"

namespace ferry::runtime {
namespace {

bool switched_off() {
  static const bool off = [] {
    const char* text = secure_getenv("FERRY_PEER");
    const std::string word = text != nullptr ? text : "on";
    if (word != "on" && word != "off") {
      throw InvalidArgument("FERRY_PEER", "'" + word + "' is not one of on, off");
    }
    return word == "off";
  }();
  return off;
}

/// One reference to a storage.
class Held {
 public:
  Held(DeviceState& device, uint64_t bytes) : storage_(detail::new_storage(device, bytes)) {}
  ~Held() { detail::release(storage_); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  Place place() const { return {storage_, 0}; }

 private:
  detail::Storage* storage_;
};

/// Copies a pattern there and reads it back. Throws what the devices report.
bool pattern_arrives(DeviceState& target, DeviceState& source) {
  std::vector<uint32_t> pattern(1024), zeros(1024, 0), seen(1024);
  for (size_t i = 0; i < pattern.size(); ++i) {
    pattern[i] = 0x9e3779b9u * static_cast<uint32_t>(i + 1);  // no value repeats, none is 0
  }
  const uint64_t bytes = pattern.size() * sizeof(uint32_t);
  const Held from(source, bytes);
  const Held to(target, bytes);
  copy_from_host(from.place(), pattern.data(), bytes);
  copy_from_host(to.place(), zeros.data(), bytes);
  copy_to_peer(to.place(), from.place(), bytes);
  copy_to_host(seen.data(), to.place(), bytes);
  return seen == pattern;
}

bool prove(DeviceState& target, DeviceState& source) {
  const int backend = target.device().backend_id();
  if (backend != source.device().backend_id() || switched_off()) return false;
  hal::Backend& plugin = *Registry::get().backends()[static_cast<size_t>(backend)]->backend;
  if (!plugin.peer_access(static_cast<uint32_t>(target.device().index()),
                          static_cast<uint32_t>(source.device().index()))) {
    return false;
  }
  std::string reason = "the pattern did not arrive";
  try {
    if (pattern_arrives(target, source)) return true;
  } catch (const OutOfMemoryError&) {
    throw;  // says nothing about the pair
  } catch (const Error& e) {
    reason = e.what();
  }
  log(LogLevel::kWarn, "copy",
      "direct copies from " + source.device().str() + " to " + target.device().str() +
          " do not work though the platform offers them (" + reason +
          "): copies go through host memory");
  return false;
}

}  // namespace

bool peer_copy_works(DeviceState& target, DeviceState& source) {
  static std::mutex mutex;
  static auto* const known = new std::map<std::pair<size_t, size_t>, bool>();
  const std::pair<size_t, size_t> pair{target.ordinal(), source.ordinal()};
  const std::lock_guard lock(mutex);
  const auto found = known->find(pair);
  if (found != known->end()) return found->second;
  const bool works = prove(target, source);
  known->emplace(pair, works);
  return works;
}

void copy_to_peer(Place dst, Place src, uint64_t bytes) {
  DeviceState& target = *dst.storage->device;
  DeviceState& source = *src.storage->device;
  const auto at = [](Place place) {
    ferry_location location = place.storage->at;
    location.offset += place.offset;
    return location;
  };
  Submission work(target);
  work.reads(*src.storage);
  work.writes(*dst.storage);
  work.begin();
  target.check(target.hal().copy_from_peer(work.stream(), at(dst), source.hal(), at(src), bytes),
               "copy");
  (void)work.end("copy from peer");
}

}  // namespace ferry::runtime
