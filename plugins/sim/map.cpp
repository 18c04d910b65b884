// SPDX-License-Identifier: Apache-2.0
//
// The scalar ops, and map/1.
#include "evaluate.h"
#include "ferry/sdk/scalar_math.h"

namespace ferry::sim {
namespace {

class MapKernel final : public SimKernel {
 public:
  MapKernel()
      : SimKernel({FERRY_FAMILY_MAP, kAllDtypes,
                   FERRY_KERNEL_STRIDED | FERRY_KERNEL_INPLACE | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    return call.map == nullptr ? hal::Status(FERRY_DECLINED) : SimKernel::check(call);
  }

 protected:
  Outcome run(const Job& job) const override {
    const ferry_program& program = job.map->get();
    with_compute(program.compute, [&](auto tag) {
      using C = decltype(tag);
      Program<C> evaluator(program, job.in);
      std::vector<Elements<C>> outputs;
      for (const View& v : job.out) outputs.emplace_back(v);
      Index index(job.out[0].tensor);
      const int64_t n = job.out[0].numel();
      for (int64_t i = 0; i < n; ++i) {
        evaluator.evaluate(index);
        for (size_t k = 0; k < outputs.size(); ++k) {
          outputs[k].set(index.offset_in(job.out[k].tensor), evaluator.result(k));
        }
        index.advance();
      }
    });
    return {};
  }
};

}  // namespace

template <class T>
T apply(uint16_t op, T a, T b, T c) {
  using namespace sdk::math;  // NOLINT(google-build-using-namespace)
  switch (op) {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  case code:                                                                 \
    return static_cast<T>(formula);
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
    default:
      (void)b, (void)c;
      return a;
  }
}
template int32_t apply(uint16_t, int32_t, int32_t, int32_t);
template int64_t apply(uint16_t, int64_t, int64_t, int64_t);
template float apply(uint16_t, float, float, float);
template double apply(uint16_t, double, double, double);

bool is_known(const ferry_program& program) {
  constexpr int kKnown = 0
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) +1
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
      ;
  for (uint32_t i = 0; i < program.n_insn; ++i) {
    if (program.insns[i].op >= kKnown) return false;
  }
  return true;
}

const hal::Kernel& map_kernel() {
  static const auto* const kernel = new MapKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
