// SPDX-License-Identifier: Apache-2.0
//
// The two halves of load_state_dict(): finding everything that does not fit,
// and writing what does.
#ifndef FERRY_NN_LOAD_H
#define FERRY_NN_LOAD_H

#include <string>
#include <vector>

#include "nn/slots.h"

namespace ferry::nn {

/// One tensor of the module and the values for it, of the same shape.
struct Assignment {
  std::string name;
  Tensor target, source;
};

struct LoadPlan {
  std::vector<Assignment> assignments;  ///< each target once
  LoadResult result;
};

/// Compares all names, shapes and dtypes. InvalidArgument lists what does not
/// fit. Writes nothing.
LoadPlan plan_load(const Module& module, const StateDict& state, LoadOptions options);

/// Writes the values. Takes all memory that this needs before the first write.
/// Consumes the assignments.
void write_all(std::vector<Assignment>& assignments);

/// Advice where all names differ by one prefix ("module."); else empty.
std::string prefix_advice(const std::vector<std::string>& missing,
                          const std::vector<std::string>& unexpected);

}  // namespace ferry::nn

#endif  // FERRY_NN_LOAD_H
