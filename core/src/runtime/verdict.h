// SPDX-License-Identifier: Apache-2.0
//
// Verdict: why a file is not used as a plugin, with the codes of the load
// report.
#ifndef FERRY_RUNTIME_VERDICT_H
#define FERRY_RUNTIME_VERDICT_H

#include <string>

namespace ferry::runtime {

namespace verdict {
inline constexpr const char* kLoaded = "F000";
inline constexpr const char* kNotAPlugin = "F100";
inline constexpr const char* kDuplicate = "F101";
inline constexpr const char* kAbsent = "F200";
inline constexpr const char* kUndefinedSymbol = "F201";
inline constexpr const char* kWrongFormat = "F202";
inline constexpr const char* kMissingDependency = "F203";
inline constexpr const char* kAbiMajor = "F300";
inline constexpr const char* kAbiTooNew = "F301";
inline constexpr const char* kAbiTooOld = "F302";
inline constexpr const char* kMissingFeature = "F303";
inline constexpr const char* kProbeDeclined = "F400";
inline constexpr const char* kInitFailed = "F401";
inline constexpr const char* kNoDevices = "F403";
inline constexpr const char* kHidden = "F500";
}  // namespace verdict

struct Verdict {
  std::string code;
  std::string text;    ///< the reason, with what was found
  std::string remedy;  ///< what to do, or empty
};

}  // namespace ferry::runtime

#endif  // FERRY_RUNTIME_VERDICT_H
