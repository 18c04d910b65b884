// SPDX-License-Identifier: Apache-2.0
//
// One scalar op on operands of one promoted dtype, and what it must give.
#ifndef FERRY_TESTS_OPS_SCALAR_CASE_H
#define FERRY_TESTS_OPS_SCALAR_CASE_H

#include <optional>
#include <vector>

#include "common.h"
#include "reference/scalar.h"

namespace ferry::test {

/// The ops that are functions of their own, with `arity` operands (0: of any),
/// without those that refuse operands of `dtype`.
std::vector<reference::ScalarOp> scalar_functions(int arity = 0, std::optional<DType> dtype = {});

/// The op on the first operands that it has.
Tensor apply(const reference::ScalarOp& op, std::vector<detail::Operand> operands);

/// Whether InvalidArgument is the answer for operands of `dtype`.
bool is_refused(const reference::ScalarOp& op, DType dtype);

/// The dtype of the first operand: the condition of a WHERE is bool.
DType first_dtype(const reference::ScalarOp& op, DType dtype);

/// What an op must give for operands whose promoted dtype is `dtype`.
class ScalarCase {
 public:
  ScalarCase(const reference::ScalarOp& op, DType dtype);

  /// Checks dtype, shape and every element; the arrays hold the operands'
  /// values in row-major order. Fails fatally at the first wrong element.
  void check(const Tensor& got, const Shape& shape, const reference::Array& a,
             const reference::Array& b, const reference::Array& c) const;

 private:
  ::testing::AssertionResult is_right(double got, double exact) const;

  const reference::ScalarOp& op_;
  DType dtype_;    ///< of the operands, promoted
  DType compute_;  ///< of the registers
  DType out_;
};

/// Ordinary values of both signs; for floating dtypes zeros, infinities, NaN,
/// and numbers near the bounds of the dtype.
std::vector<double> values_for(DType dtype);

}  // namespace ferry::test

#endif  // FERRY_TESTS_OPS_SCALAR_CASE_H
