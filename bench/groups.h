// SPDX-License-Identifier: Apache-2.0
//
// The groups of benchmarks, and the peers that some builds have.
#ifndef FERRY_BENCH_GROUPS_H
#define FERRY_BENCH_GROUPS_H

#include <cstdint>
#include <string>
#include <vector>

#include "harness.h"

namespace ferry::bench {

void bench_boundary();
void bench_start();
void bench_memory();
void bench_staging();
void bench_module();
void bench_operations();

/// What a peer runs for a row: "add" of n elements, "matmul" of n by n, ...
/// Empty where the peer is not built in or has no such case.
std::vector<Candidate> torch_candidates(const std::string& work, int64_t n);
std::vector<Candidate> eigen_candidates(const std::string& work, int64_t n);

}  // namespace ferry::bench

#endif  // FERRY_BENCH_GROUPS_H
