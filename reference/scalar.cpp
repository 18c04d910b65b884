// SPDX-License-Identifier: Apache-2.0
//
// The judge's column of the op list.
#include "reference/scalar.h"

#include <cmath>

namespace ferry::reference {

std::span<const ScalarOp> scalar_ops() {
  static constexpr ScalarOp kOps[] = {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp)             \
  {code,                                                                                 \
   #name,                                                                                \
   arity,                                                                                \
   Rule::rule,                                                                           \
   ulp,                                                                                  \
   []([[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) { \
     return static_cast<double>(judge);                                                  \
   },                                                                                    \
   []([[maybe_unused]] long double a, [[maybe_unused]] long double b,                    \
      [[maybe_unused]] long double c) { return static_cast<long double>(judge); }},
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
  };
  return kOps;
}

}  // namespace ferry::reference
