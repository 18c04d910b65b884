// SPDX-License-Identifier: Apache-2.0
//
// Copying a launch, and looking up its memory when it runs.
#include "kernels.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "evaluate.h"
#include "faults.h"

namespace ferry::sim {
namespace {

/// Bytes from a tensor's first element to the end of its last one.
uint64_t extent_of(const ferry_tensor& t) {
  int64_t last = 0;
  for (uint32_t d = 0; d < t.ndim; ++d) last += (t.shape[d] - 1) * t.stride[d];
  return (static_cast<uint64_t>(last) + 1) * item_size(t.dtype);
}

uint32_t arity_of(uint16_t op) {
  constexpr uint32_t kArity[] = {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) arity,
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
  };
  return kArity[op];
}

/// Never returns: what a kernel that hangs does.
[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

OwnProgram::OwnProgram(const ferry_program& p)
    : constants_(p.constants, p.constants + p.n_const),
      insns_(p.insns, p.insns + p.n_insn),
      out_(p.out, p.out + p.n_out),
      program_(p) {
  // Arguments beyond an op's arity say nothing; here they may be read.
  for (ferry_insn& insn : insns_)
    std::fill(insn.arg + arity_of(insn.op), insn.arg + 4, uint16_t{0});
  program_.size = sizeof program_;
  program_.constants = constants_.data();
  program_.insns = insns_.data();
  program_.out = out_.data();
}

hal::Status SimKernel::check(const ferry_call& call) const {
  return call.map == nullptr || is_known(*call.map) ? hal::Status() : hal::Status(FERRY_DECLINED);
}

hal::Status SimKernel::launch(const ferry_call& call) const {
  auto* device = static_cast<SimDevice*>(reinterpret_cast<hal::Device*>(call.device));
  auto* stream = reinterpret_cast<hal::Stream*>(call.stream);
  auto job = std::make_shared<Job>();
  for (uint32_t i = 0; i < call.n_in; ++i) job->in.push_back({nullptr, call.in[i]});
  for (uint32_t i = 0; i < call.n_out; ++i) job->out.push_back({nullptr, call.out[i]});
  if (call.attr != nullptr) {
    const auto* bytes = static_cast<const char*>(call.attr);
    job->attr.assign(bytes, bytes + *reinterpret_cast<const uint32_t*>(bytes));
  }
  if (call.map != nullptr) job->map = std::make_shared<OwnProgram>(*call.map);
  return device->run(stream, traits().family, [this, device, job]() -> Outcome {
    if (is_due(Fault::kHang)) hang();
    if (is_due(Fault::kKernel)) return {FERRY_E_DEVICE, "a kernel failed (simulated)"};
    std::string why;
    for (auto* list : {&job->in, &job->out}) {
      for (View& v : *list) {
        v.data = device->memory().find(v.tensor.at, extent_of(v.tensor), &why);
        if (v.data == nullptr) return {FERRY_E_DEVICE, why};
      }
    }
    Outcome outcome = run(*job);
    if (outcome.code != FERRY_OK) outcome.text = std::string(traits().family) + ": " + outcome.text;
    return outcome;
  });
}

}  // namespace ferry::sim
