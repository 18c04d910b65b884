// SPDX-License-Identifier: Apache-2.0
//
// FERRY_VISIBLE_DEVICES: keeps what it hides out of the registry, and a plugin
// that it hides altogether from being called at all.
#ifndef FERRY_RUNTIME_VISIBLE_H
#define FERRY_RUNTIME_VISIBLE_H

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ferry/abi/plugin.h"
#include "ferry/error.h"
#include "runtime/device_list.h"
#include "runtime/load_plugin.h"
#include "runtime/registry.h"

namespace ferry::runtime {

/// An error of the configuration, thrown again by every question.
class Refusal {
 public:
  Refusal(const InvalidArgument& error) : text_(error.what()) {}                  // NOLINT
  Refusal(const UnavailableError& error) : text_(error.what()), absent_(true) {}  // NOLINT
  [[noreturn]] void rethrow() const;

 private:
  std::string text_;
  bool absent_ = false;
};

class VisibleDevices {
 public:
  /// `value` as `origin` gave it; nothing is hidden where there is none. A wrong
  /// form is kept in refusal(), and hides every accelerator.
  VisibleDevices(const std::optional<std::string>& value, std::string origin);

  const std::string& origin() const { return origin_; }
  const std::optional<Refusal>& refusal() const { return refusal_; }

  /// Says for each plugin that the list hides as a whole that it is hidden.
  /// Called before their probes.
  void hide_unwanted(std::vector<Plugin>& plugins) const;

  /// Takes the hidden devices out of `backends`, whose places are their ids,
  /// and those left without a device too; writes into `report` what was hidden.
  /// Throws where the list names what is not here. `registry` has `backends`.
  void apply(const Registry& registry, std::vector<std::unique_ptr<BackendEntry>>& backends,
             std::vector<LoadReportEntry>& report) const;

 private:
  std::string setting() const;
  void refuse_to_hide_the_cpu(const Registry& registry) const;

  std::string origin_;
  bool set_ = false;
  DeviceList list_;
  std::optional<Refusal> refusal_;
};

/// "; ACME_VISIBLE_DEVICES='1' is set", for each variable of the vendor that is.
std::string vendor_variables(const ferry_plugin_desc& desc);

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_VISIBLE_H
