// SPDX-License-Identifier: Apache-2.0
//
// Values and class names as PyTorch prints them.
#ifndef FERRY_NN_REPR_H
#define FERRY_NN_REPR_H

#include <string>
#include <typeinfo>

#include "ferry/nn/conv.h"

namespace ferry::nn {

inline const char* repr(bool value) { return value ? "True" : "False"; }
/// "1e-05", "0.1", "1.0".
std::string repr(double value);
/// "(2, 2)".
std::string tuple(const Pair& pair);
/// "2" where both are equal, else as a tuple.
std::string repr(const Pair& pair);

/// Of "ferry::nn::Linear": "Linear".
std::string class_name(const std::type_info& type);

}  // namespace ferry::nn

#endif  // FERRY_NN_REPR_H
