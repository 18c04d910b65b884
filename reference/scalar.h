// SPDX-License-Identifier: Apache-2.0
//
// The scalar ops as the judge sees them, and what the op list says of each.
#ifndef FERRY_REFERENCE_SCALAR_H
#define FERRY_REFERENCE_SCALAR_H

#include <cstdint>
#include <span>

namespace ferry::reference {

enum class Rule { NONE, SAME, FLOAT, BOOL, INT, WHERE };

/// A line of abi/scalar_ops.def. Operands beyond `arity` are ignored.
struct ScalarOp {
  uint16_t code;
  const char* name;
  int arity;
  Rule rule;
  double ulp;
  double (*judge)(double a, double b, double c);
  /// The same formula in long double, which holds every i64 exactly where it has
  /// 64 bits or more of significand.
  long double (*wide)(long double a, long double b, long double c);
};

/// In the order of their codes.
std::span<const ScalarOp> scalar_ops();

}  // namespace ferry::reference

#endif  // FERRY_REFERENCE_SCALAR_H
