// SPDX-License-Identifier: Apache-2.0
//
// Options: how the simulated devices are to be, from FERRY_SIM_ variables.
#ifndef FERRY_SIM_OPTIONS_H
#define FERRY_SIM_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

#include "ferry/hal/status.h"

namespace ferry::sim {

/// When the work of a stream happens.
enum class Mode {
  kEager,   ///< as soon as its thread comes to it
  kLazy,    ///< when somebody waits for it
  kJitter,  ///< eager, after a random pause of up to 200 us each
};

enum class PeerMode { kOff, kOn, kLie };

/// A failure that is to happen at the nth call of its kind, counted over the
/// process from 1, or by chance.
struct Fault {
  enum Kind { kOom, kCopy, kKernel, kLost, kHang } kind;
  uint64_t nth = 0;   ///< 0: by chance
  double chance = 0;  ///< 0 to 1
};

struct Options {
  uint32_t devices = 2;
  uint64_t memory = uint64_t{256} << 20;  ///< bytes of each
  uint64_t pinned = uint64_t{256} << 20;  ///< bytes of host memory for each, 0: none
  uint64_t taken = 0;                     ///< bytes of each that other programs hold
  uint64_t latency_us = 0;                ///< before each piece of stream work
  uint64_t bandwidth = 0;                 ///< bytes a second of copies, 0: no limit
  std::string families;                   ///< offered, with commas; empty: all
  std::string device_name = "Simulated accelerator";
  std::string vendor = "Ferry";
  Mode mode = Mode::kEager;
  PeerMode peer = PeerMode::kOn;
  bool opaque_handles = false;
  uint64_t seed = 1;
  std::vector<Fault> faults;
};

/// Reads the options once. FERRY_E_ARG naming the variable, its value and what
/// is allowed, where one is malformed.
hal::Status read_options();
/// As read; the defaults before that.
const Options& options();

}  // namespace ferry::sim

#endif  // FERRY_SIM_OPTIONS_H
