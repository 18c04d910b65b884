// SPDX-License-Identifier: Apache-2.0
//
// A host of its own for the plugin under test: it opens the file, hands it a
// table of services that records what the plugin says, and keeps its tables.
#ifndef FERRY_TOOLS_VERIFY_ABI_HOST_H
#define FERRY_TOOLS_VERIFY_ABI_HOST_H

#include <cstdint>
#include <string>
#include <vector>

#include "ferry/abi/plugin.h"

namespace ferry::verify {

/// What the plugin last gave to host->fail on this thread.
struct FailText {
  int calls = 0;
  ferry_rc code = 0;
  std::string where, text;
};
FailText& fail_text();
/// ": where: text" of the last failure, or ", without a text".
std::string own_words();
/// "FERRY_E_OOM (-2)".
std::string rc_name(ferry_rc rc);

/// The services; `name` is that of the plugin, for its options.
const ferry_host& host_table(const std::string& name);

class Plugin {
 public:
  /// Opens the file only. NotApplicable where the system's loader refuses it,
  /// or it has no descriptor.
  explicit Plugin(const std::string& path);
  /// Opens and initialises it; NotApplicable where it refuses.
  static Plugin initialised(const std::string& path);

  /// Calls probe, where there is one, and init with these tables.
  void init(const ferry_host& host, ferry_plugin_api* api);

  void* library() const { return library_; }
  const ferry_plugin_desc& desc() const { return *desc_; }
  const ferry_plugin_api& api() const { return api_; }
  const ferry_core_api& core() const { return *api_.core; }
  std::vector<const ferry_kernel*> kernels() const;
  /// Information of a device; fails where the plugin does.
  ferry_device_info info(uint32_t index = 0) const;

 private:
  void* library_ = nullptr;
  const ferry_plugin_desc* desc_ = nullptr;
  ferry_plugin_api api_{};
};

/// Fails unless rc is FERRY_OK, naming the call and the plugin's own words.
void expect_ok(ferry_rc rc, const std::string& call);

// What this process holds.
int open_files();
int threads();
/// The same once it is at most `wanted`, waiting up to a second for threads
/// that are joined but still listed.
int threads_settling_at(int wanted);
uint64_t resident_bytes();

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_ABI_HOST_H
