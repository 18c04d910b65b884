// SPDX-License-Identifier: Apache-2.0
//
// Faults that are asked for by FERRY_SIM_FAULTS, and the pauses of the modes.
#ifndef FERRY_SIM_FAULTS_H
#define FERRY_SIM_FAULTS_H

#include "options.h"

namespace ferry::sim {

/// Counts one more call of `kind` and says whether it is to fail. Thread-safe.
bool is_due(Fault::Kind kind);

/// Sleeps for the latency and, with `jitter`, a random time more.
void pause_before_work();
/// Sleeps for what is left of the time that `bytes` take at the bandwidth, of
/// which `spent_us` are over.
void pause_for_copy(uint64_t bytes, double spent_us);

}  // namespace ferry::sim

#endif  // FERRY_SIM_FAULTS_H
