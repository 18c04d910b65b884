// SPDX-License-Identifier: Apache-2.0
//
// reduce/1: for each result, a walk over what it is made of.
#include <limits>

#include "evaluate.h"
#include "ferry/sdk/scalar_math.h"

namespace ferry::sim {
namespace {

/// The reduction of one result; floating values in double, integers in int64_t.
template <class A>
struct Total {
  uint32_t op;
  A value{};
  int64_t where = -1, seen = 0;

  void take(A v) {
    using namespace sdk::math;  // NOLINT(google-build-using-namespace)
    const bool first = seen == 0;
    switch (op) {
      case FERRY_REDUCE_SUM:
        value = first ? v : fm_add(value, v);
        break;
      case FERRY_REDUCE_PROD:
        value = first ? v : fm_mul(value, v);
        break;
      case FERRY_REDUCE_MAX:
        value = first ? v : fm_max(value, v);
        break;
      case FERRY_REDUCE_MIN:
        value = first ? v : fm_min(value, v);
        break;
      case FERRY_REDUCE_ANY:
        value = static_cast<A>((!first && value != A(0)) || v != A(0));
        break;
      case FERRY_REDUCE_ALL:
        value = static_cast<A>((first || value != A(0)) && v != A(0));
        break;
      default: {
        const bool beats = op == FERRY_REDUCE_ARGMAX ? v > value : v < value;
        if (first || (value == value && (beats || v != v))) {
          value = v;
          where = seen;
        }
      }
    }
    ++seen;
  }
};

template <class C>
void reduce(const Job& job, const ferry_program& program) {
  using A = std::conditional_t<std::is_floating_point_v<C>, double, int64_t>;
  const auto& attr = job.attr_as<ferry_reduce_attr>();
  const ferry_tensor& like = job.in[0].tensor;
  const ferry_tensor& out = job.out[0].tensor;
  std::vector<Total<A>> totals(static_cast<size_t>(job.out[0].numel()), Total<A>{attr.op});
  // Row-major strides of the results, 0 where a dimension is reduced.
  int64_t result_stride[FERRY_MAX_DIMS] = {};
  int64_t next = 1;
  for (uint32_t d = out.ndim; d-- > 0;) {
    result_stride[d] = (attr.axes >> d & 1) != 0 ? 0 : next;
    next *= out.shape[d];
  }
  Program<C> evaluator(program, job.in);
  Index index(like);
  const int64_t n = job.in[0].numel();
  for (int64_t i = 0; i < n; ++i) {
    evaluator.evaluate(index);
    int64_t result = 0;
    for (uint32_t d = 0; d < like.ndim; ++d) result += index.at()[d] * result_stride[d];
    totals[static_cast<size_t>(result)].take(static_cast<A>(evaluator.result(0)));
    index.advance();
  }
  const Elements<A> to(job.out[0]);
  Index results(out);
  for (const Total<A>& total : totals) {
    const bool position = attr.op >= FERRY_REDUCE_ARGMAX;
    A value = position ? static_cast<A>(total.where) : total.value;
    // A program's output is converted from its compute type.
    if (std::is_floating_point_v<C> && !position) value = static_cast<A>(static_cast<C>(value));
    to.set(results.offset_in(out), value);
    results.advance();
  }
}

class ReduceKernel final : public SimKernel {
 public:
  ReduceKernel()
      : SimKernel(
            {FERRY_FAMILY_REDUCE, kAllDtypes, FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_reduce_attr>(call);
    const bool known = attr != nullptr && attr->op <= FERRY_REDUCE_ARGMIN && call.n_in > 0;
    return known ? SimKernel::check(call) : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    const uint16_t first = 0;
    const ferry_program identity = {
        sizeof identity, compute_of(job.in[0].tensor.dtype), 1, 0, 0, 1, nullptr, nullptr, &first};
    const ferry_program& program = job.map != nullptr ? job.map->get() : identity;
    with_compute(program.compute, [&](auto tag) { reduce<decltype(tag)>(job, program); });
    return {};
  }
};

}  // namespace

const hal::Kernel& reduce_kernel() {
  static const auto* const kernel = new ReduceKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
