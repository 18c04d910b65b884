// SPDX-License-Identifier: Apache-2.0
//
// fuse(): an ordinary function of element-wise operations as one kernel.
#ifndef FERRY_FUSE_H
#define FERRY_FUSE_H

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ferry/tensor.h"

namespace ferry {

namespace detail {
class Trace;
class FusedProgram;
}  // namespace detail

/// A value in the body of a fused function: what a tensor would be there. Valid
/// while the body runs.
class FERRY_API Expr {
 public:
  DType dtype() const;
  /// As Tensor::to(dtype). Between floating dtypes no place is lost before the
  /// result is stored; a floating value becomes an integer only as a result.
  Expr to(DType dtype) const;

 private:
  friend class detail::Trace;
  Expr(detail::Trace& trace, uint16_t node) : trace_(&trace), node_(node) {}
  detail::Trace* trace_;
  uint16_t node_;
};

/// A reduction as the result of a fused function.
struct ReducedExpr {
  Expr value;
  uint32_t op;
  Shape dims;
  bool keepdim;
};

namespace detail {

/// An operand of an operation: a value of the function or a number.
struct ExprOperand {
  ExprOperand(const Expr& e) noexcept : expr(&e) {}  // NOLINT(google-explicit-constructor)
  ExprOperand(Scalar s) noexcept : scalar(s) {}      // NOLINT(google-explicit-constructor)
  template <class T>
  requires std::is_arithmetic_v<T> ExprOperand(T v)
  noexcept : scalar(v) {}  // NOLINT(google-explicit-constructor)
  const Expr* expr = nullptr;
  Scalar scalar = 0;
};
FERRY_API Expr trace_op(uint16_t code, std::span<const ExprOperand> operands);

/// The programs of one fused function, by the dtypes of its inputs.
class FERRY_API FusedFunction {
 public:
  using Body = std::function<std::vector<Expr>(std::span<const Expr>)>;
  using ReducedBody = std::function<ReducedExpr(std::span<const Expr>)>;

  FusedFunction(Body body, ReducedBody reduced);

  std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  std::string text(std::span<const Tensor> inputs) const;

 private:
  struct Cache;
  std::shared_ptr<const FusedProgram> program_for(std::span<const Tensor> inputs) const;

  Body body_;
  ReducedBody reduced_;
  std::shared_ptr<Cache> cache_;
};

template <class R>
inline constexpr size_t kResults = 1;
template <size_t N>
inline constexpr size_t kResults<std::array<Expr, N>> = N;

template <class F, size_t... I>
decltype(auto) call_body(F& f, std::span<const Expr> in, std::index_sequence<I...>) {
  return f(in[I]...);
}

}  // namespace detail

// ---- Operations on Expr: one for each line of abi/scalar_ops.def --------------
#define FERRY_FUSE_ARITY_0(name, code)
#define FERRY_FUSE_ARITY_1(name, code)          \
  inline Expr name(const Expr& a) {             \
    const detail::ExprOperand operands[] = {a}; \
    return detail::trace_op(code, operands);    \
  }
#define FERRY_FUSE_ARITY_2(name, code)             \
  inline Expr name(const Expr& a, const Expr& b) { \
    const detail::ExprOperand operands[] = {a, b}; \
    return detail::trace_op(code, operands);       \
  }                                                \
  inline Expr name(const Expr& a, Scalar b) {      \
    const detail::ExprOperand operands[] = {a, b}; \
    return detail::trace_op(code, operands);       \
  }                                                \
  inline Expr name(Scalar a, const Expr& b) {      \
    const detail::ExprOperand operands[] = {a, b}; \
    return detail::trace_op(code, operands);       \
  }
#define FERRY_FUSE_ARITY_3(name, code)                                                          \
  inline Expr name(const Expr& a, const detail::ExprOperand& b, const detail::ExprOperand& c) { \
    const detail::ExprOperand operands[] = {a, b, c};                                           \
    return detail::trace_op(code, operands);                                                    \
  }
#define FERRY_FUSE_RULE_NONE(arity, name, code)
#define FERRY_FUSE_RULE_SAME(arity, name, code) FERRY_FUSE_ARITY_##arity(name, code)
#define FERRY_FUSE_RULE_FLOAT(arity, name, code) FERRY_FUSE_ARITY_##arity(name, code)
#define FERRY_FUSE_RULE_BOOL(arity, name, code) FERRY_FUSE_ARITY_##arity(name, code)
#define FERRY_FUSE_RULE_INT(arity, name, code) FERRY_FUSE_ARITY_##arity(name, code)
#define FERRY_FUSE_RULE_WHERE(arity, name, code) FERRY_FUSE_ARITY_##arity(name, code)
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  FERRY_FUSE_RULE_##rule(arity, name, code)
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
#undef FERRY_FUSE_RULE_NONE
#undef FERRY_FUSE_RULE_SAME
#undef FERRY_FUSE_RULE_FLOAT
#undef FERRY_FUSE_RULE_BOOL
#undef FERRY_FUSE_RULE_INT
#undef FERRY_FUSE_RULE_WHERE
#undef FERRY_FUSE_ARITY_0
#undef FERRY_FUSE_ARITY_1
#undef FERRY_FUSE_ARITY_2
#undef FERRY_FUSE_ARITY_3

#define FERRY_FUSE_OPERATOR(op, name)                                          \
  inline Expr operator op(const Expr& a, const Expr& b) { return name(a, b); } \
  inline Expr operator op(const Expr& a, Scalar b) { return name(a, b); }      \
  inline Expr operator op(Scalar a, const Expr& b) { return name(a, b); }
FERRY_FUSE_OPERATOR(+, add)
FERRY_FUSE_OPERATOR(-, sub)
FERRY_FUSE_OPERATOR(*, mul)
FERRY_FUSE_OPERATOR(/, div)
FERRY_FUSE_OPERATOR(==, eq)
FERRY_FUSE_OPERATOR(!=, ne)
FERRY_FUSE_OPERATOR(<, lt)
FERRY_FUSE_OPERATOR(<=, le)
FERRY_FUSE_OPERATOR(>, gt)
FERRY_FUSE_OPERATOR(>=, ge)
FERRY_FUSE_OPERATOR(&, bitwise_and)
FERRY_FUSE_OPERATOR(|, bitwise_or)
FERRY_FUSE_OPERATOR(^, bitwise_xor)
FERRY_FUSE_OPERATOR(%, remainder)
#undef FERRY_FUSE_OPERATOR
inline Expr operator-(const Expr& a) { return neg(a); }
inline Expr operator~(const Expr& a) { return bitwise_not(a); }

// ---- Reductions, as the last thing that a fused function does -------------------
FERRY_API ReducedExpr sum(const Expr& x, Sizes dims = {}, bool keepdim = false);
FERRY_API ReducedExpr prod(const Expr& x, Sizes dims = {}, bool keepdim = false);
FERRY_API ReducedExpr amax(const Expr& x, Sizes dims = {}, bool keepdim = false);
FERRY_API ReducedExpr amin(const Expr& x, Sizes dims = {}, bool keepdim = false);
FERRY_API ReducedExpr any(const Expr& x, Sizes dims = {}, bool keepdim = false);
FERRY_API ReducedExpr all(const Expr& x, Sizes dims = {}, bool keepdim = false);

/// A function of N tensors; see fuse().
template <size_t N, class Result>
class Fused {
 public:
  explicit Fused(detail::FusedFunction function) : function_(std::move(function)) {}

  /// The tensors are broadcast and promoted as by single operations, and may be
  /// on any one device. Thread-safe. InvalidArgument where single operations
  /// would throw it.
  template <class... Tensors>
  requires(sizeof...(Tensors) == N && (std::convertible_to<Tensors, const Tensor&> && ...)) auto
  operator()(const Tensors&... tensors) const {
    const std::array<Tensor, N> inputs = {tensors...};
    std::vector<Tensor> out = function_.run(inputs);
    if constexpr (std::is_same_v<Result, Expr> || std::is_same_v<Result, ReducedExpr>) {
      return Tensor(std::move(out[0]));
    } else {
      std::array<Tensor, detail::kResults<Result>> results;
      for (size_t i = 0; i < results.size(); ++i) results[i] = std::move(out[i]);
      return results;
    }
  }

  /// The program for tensors of these dtypes, one step a line.
  template <class... Tensors>
  requires(sizeof...(Tensors) == N && (std::convertible_to<Tensors, const Tensor&> &&
                                       ...)) std::string text(const Tensors&... tensors)
  const {
    const std::array<Tensor, N> inputs = {tensors...};
    return function_.text(inputs);
  }

 private:
  detail::FusedFunction function_;
};

/// The function `f` of N values as one kernel on any device:
///
///   const auto gate = fuse<2>([](auto x, auto y) { return sigmoid(x) * tanh(y) + 1; });
///   Tensor z = gate(a, b);
///
/// `f` takes N Expr and returns one, an array of several, or a reduction of one
/// such as sum(x * y, {1}). It is called once for each combination of input
/// dtypes; what it reads besides its arguments is fixed then. It computes in
/// the widest dtype among its values (halves in f32) and rounds where results
/// are stored, so that halves come out closer than from single operations.
template <size_t N, class F>
auto fuse(F f) {
  using Indices = std::make_index_sequence<N>;
  using Result = std::decay_t<decltype(detail::call_body(f, std::span<const Expr>(), Indices()))>;
  if constexpr (std::is_same_v<Result, ReducedExpr>) {
    return Fused<N, Result>({nullptr, [f = std::move(f)](std::span<const Expr> in) {
                               return detail::call_body(f, in, Indices());
                             }});
  } else {
    return Fused<N, Result>({[f = std::move(f)](std::span<const Expr> in) {
                               if constexpr (std::is_same_v<Result, Expr>) {
                                 return std::vector<Expr>{detail::call_body(f, in, Indices())};
                               } else {
                                 const Result all = detail::call_body(f, in, Indices());
                                 return std::vector<Expr>(all.begin(), all.end());
                               }
                             },
                             nullptr});
  }
}

/// The same for a function whose parameters are Expr themselves.
template <class... Parameters, class R>
auto fuse(R (*f)(Parameters...)) {
  return fuse<sizeof...(Parameters)>(f);
}

}  // namespace ferry

#endif  // FERRY_FUSE_H
