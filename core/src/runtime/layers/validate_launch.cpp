// SPDX-License-Identifier: Apache-2.0
//
// Checks a ferry_call against the contract in abi/kernel.h.
#include "runtime/layers/validate_launch.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace ferry::runtime::layers {
namespace {

/// Bytes from the first to behind the last element; 0 where that overflows.
uint64_t extent(const ferry_tensor& t) {
  uint64_t last = 0;
  for (uint32_t d = 0; d < t.ndim; ++d) {
    uint64_t step = 0;
    if (__builtin_mul_overflow(static_cast<uint64_t>(t.shape[d] - 1),
                               static_cast<uint64_t>(t.stride[d]), &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return 0;
    }
  }
  uint64_t bytes = 0;
  return __builtin_mul_overflow(last + 1, bytes_of(t.dtype), &bytes) ? 0 : bytes;
}

std::string check_tensor(const Call& call, const ferry_tensor& t, MemoryMap& memory) {
  if (bytes_of(t.dtype) == 0) return fmt::format("{} is no dtype", t.dtype);
  const hal::KernelTraits& traits = call.kernel->traits();
  if ((traits.dtypes & FERRY_DTYPE_BIT(t.dtype)) == 0) {
    return fmt::format("{} has a dtype that the kernel does not take", describe(t));
  }
  if (t.ndim > FERRY_MAX_DIMS) return fmt::format("{} dimensions are too many", t.ndim);
  for (uint32_t d = 0; d < t.ndim; ++d) {
    if (t.shape[d] < 1) return fmt::format("{}: dimension {} is empty", describe(t), d);
    if (t.stride[d] < 0) return fmt::format("{}: stride {} is negative", describe(t), d);
  }
  if ((traits.flags & FERRY_KERNEL_STRIDED) == 0 && !is_contiguous(t)) {
    return fmt::format("{} is not contiguous, and the kernel lacks FERRY_KERNEL_STRIDED",
                       describe(t));
  }
  const uint64_t bytes = extent(t);
  if (bytes == 0) return fmt::format("{} is larger than any memory", describe(t));
  if (t.at.offset % bytes_of(t.dtype) != 0) {
    return fmt::format("{} begins at byte {}, which is not aligned", describe(t), t.at.offset);
  }
  const std::string wrong = memory.check_range(*call.device, t.at, bytes);
  return wrong.empty() ? wrong : describe(t) + ": " + wrong;
}

bool same_view(const ferry_tensor& a, const ferry_tensor& b) {
  return a.at.offset == b.at.offset && a.dtype == b.dtype && a.ndim == b.ndim &&
         std::equal(a.shape, a.shape + a.ndim, b.shape) &&
         std::equal(a.stride, a.stride + a.ndim, b.stride);
}

bool ranges_meet(const ferry_tensor& a, const ferry_tensor& b) {
  return a.at.memory.handle == b.at.memory.handle && a.at.offset < b.at.offset + extent(b) &&
         b.at.offset < a.at.offset + extent(a);
}

/// Strided views may lie between each other; only what is certain is reported.
std::string check_aliases(const Call& call) {
  const ferry_call& c = *call.launch;
  const bool in_place = (call.kernel->traits().flags & FERRY_KERNEL_INPLACE) != 0;
  for (uint32_t o = 0; o < c.n_out; ++o) {
    const ferry_tensor& out = c.out[o];
    for (uint32_t d = 0; d < out.ndim; ++d) {
      if (out.shape[d] > 1 && out.stride[d] == 0) {
        return fmt::format("out[{}] ({}): its elements share memory along dimension {}", o,
                           describe(out), d);
      }
    }
    for (uint32_t i = 0; i < c.n_in; ++i) {
      if (!ranges_meet(out, c.in[i])) continue;
      if (same_view(out, c.in[i])) {
        if (in_place) continue;
        return fmt::format("out[{}] is in[{}] ({}), and the kernel lacks FERRY_KERNEL_INPLACE", o,
                           i, describe(out));
      }
      if (is_contiguous(out) && is_contiguous(c.in[i])) {
        return fmt::format("out[{}] ({}) overlaps in[{}] ({}) and is not the same view", o,
                           describe(out), i, describe(c.in[i]));
      }
    }
    for (uint32_t k = 0; k < o; ++k) {
      if (ranges_meet(out, c.out[k]) && is_contiguous(out) && is_contiguous(c.out[k])) {
        return fmt::format("out[{}] and out[{}] overlap", k, o);
      }
    }
  }
  return {};
}

/// Of a scalar op; -1 for an unknown one.
int arity_of(uint16_t op) {
  switch (op) {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  case code:                                                                 \
    return arity;
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
  }
  return -1;
}

std::string check_program(const ferry_call& call) {
  const ferry_program& p = *call.map;
  if (p.compute != FERRY_F32 && p.compute != FERRY_F64 && p.compute != FERRY_I32 &&
      p.compute != FERRY_I64) {
    return fmt::format("map: {} is no compute type", p.compute);
  }
  if ((p.n_const > 0 && p.constants == nullptr) || (p.n_insn > 0 && p.insns == nullptr) ||
      (p.n_out > 0 && p.out == nullptr)) {
    return "map: an array is null";
  }
  for (uint32_t i = 0; i < p.n_insn; ++i) {
    const uint32_t before = p.n_in + p.n_const + i;
    const int arity = arity_of(p.insns[i].op);
    if (arity < 0)
      return fmt::format("map: instruction {} has the unknown op {}", i, p.insns[i].op);
    for (int a = 0; a < arity; ++a) {
      if (p.insns[i].arg[a] < before) continue;
      return fmt::format("map: instruction {} reads register {} of {}", i, p.insns[i].arg[a],
                         before);
    }
  }
  const uint32_t registers = p.n_in + p.n_const + p.n_insn;
  for (uint32_t k = 0; k < p.n_out; ++k) {
    if (p.out[k] >= registers) {
      return fmt::format("map: output {} is register {} of {}", k, p.out[k], registers);
    }
  }
  return {};
}

/// The families of abi/kernel.h.
bool is_ours(std::string_view family) {
  constexpr std::string_view kFamilies[] = {
      FERRY_FAMILY_MAP,     FERRY_FAMILY_REDUCE, FERRY_FAMILY_MATMUL,  FERRY_FAMILY_CONV,
      FERRY_FAMILY_POOL,    FERRY_FAMILY_GATHER, FERRY_FAMILY_SOFTMAX, FERRY_FAMILY_LAYER_NORM,
      FERRY_FAMILY_SCATTER, FERRY_FAMILY_SORT,   FERRY_FAMILY_SCAN,    FERRY_FAMILY_ATTENTION,
      FERRY_FAMILY_ROPE};
  return std::find(std::begin(kFamilies), std::end(kFamilies), family) != std::end(kFamilies);
}

std::string check_attention(const ferry_call& c) {
  const auto& a = *static_cast<const ferry_attention_attr*>(c.attr);
  const bool masked = (a.flags & FERRY_ATTENTION_MASK) != 0;
  if (c.n_in != (masked ? 4u : 3u)) return fmt::format("n_in: {} with flags {}", c.n_in, a.flags);
  for (uint32_t i = 0; i < c.n_in; ++i) {
    if (c.in[i].ndim != 4) return fmt::format("in[{}]: {} dimensions, not 4", i, c.in[i].ndim);
  }
  const ferry_tensor &q = c.in[0], &k = c.in[1], &v = c.in[2], &out = c.out[0];
  const bool fits = q.shape[0] == k.shape[0] && q.shape[0] == v.shape[0] &&
                    k.shape[1] == v.shape[1] && q.shape[1] % k.shape[1] == 0 &&
                    k.shape[2] == v.shape[2] && q.shape[3] == k.shape[3] && out.ndim == 4 &&
                    std::equal(q.shape, q.shape + 3, out.shape) && out.shape[3] == v.shape[3];
  if (fits) return {};
  return fmt::format("query {}, key {}, value {} and out {} do not fit", describe(q), describe(k),
                     describe(v), describe(out));
}

std::string check_rope(const ferry_call& c) {
  if (c.n_in != 3) return fmt::format("n_in: {}, not 3", c.n_in);
  const ferry_tensor &x = c.in[0], &cosines = c.in[1], &sines = c.in[2];
  const bool fits = x.ndim == 4 && cosines.ndim == 3 && sines.ndim == 3 &&
                    std::equal(cosines.shape, cosines.shape + 3, sines.shape) &&
                    (cosines.shape[0] == 1 || cosines.shape[0] == x.shape[0]) &&
                    cosines.shape[1] == x.shape[2] && 2 * cosines.shape[2] <= x.shape[3];
  if (fits) return {};
  return fmt::format("x {}, cosines {} and sines {} do not fit", describe(x), describe(cosines),
                     describe(sines));
}

std::string check_attributes(const Call& call) {
  const ferry_call& c = *call.launch;
  const std::string_view family = call.kernel->traits().family;
  const auto lacks = [&](uint32_t axis) { return c.n_in > 0 && axis >= c.in[0].ndim; };
  constexpr std::string_view kWithout[] = {FERRY_FAMILY_MAP, FERRY_FAMILY_MATMUL};
  if (c.attr == nullptr && is_ours(family) &&
      std::find(std::begin(kWithout), std::end(kWithout), family) == std::end(kWithout)) {
    return "attr: it is null";
  }
  if (family == FERRY_FAMILY_REDUCE) {
    const auto& a = *static_cast<const ferry_reduce_attr*>(c.attr);
    if (a.op > FERRY_REDUCE_ARGMIN) return fmt::format("attr: {} is no reduction", a.op);
    if (c.n_in > 0 && a.axes >> c.in[0].ndim != 0) {
      return fmt::format("attr: axes {:#b} of {} dimensions", a.axes, c.in[0].ndim);
    }
  } else if (family == FERRY_FAMILY_GATHER) {
    const auto& a = *static_cast<const ferry_gather_attr*>(c.attr);
    if (lacks(a.axis)) return fmt::format("attr: axis {} of {} dimensions", a.axis, c.in[0].ndim);
  } else if (family == FERRY_FAMILY_SOFTMAX) {
    const auto& a = *static_cast<const ferry_softmax_attr*>(c.attr);
    if (lacks(a.axis)) return fmt::format("attr: axis {} of {} dimensions", a.axis, c.in[0].ndim);
  } else if (family == FERRY_FAMILY_SCATTER) {
    const auto& a = *static_cast<const ferry_scatter_attr*>(c.attr);
    if (lacks(a.axis)) return fmt::format("attr: axis {} of {} dimensions", a.axis, c.in[0].ndim);
    if (a.op > FERRY_SCATTER_MIN) return fmt::format("attr: {} is no way to scatter", a.op);
  } else if (family == FERRY_FAMILY_SORT) {
    const auto& a = *static_cast<const ferry_sort_attr*>(c.attr);
    if (lacks(a.axis)) return fmt::format("attr: axis {} of {} dimensions", a.axis, c.in[0].ndim);
  } else if (family == FERRY_FAMILY_SCAN) {
    const auto& a = *static_cast<const ferry_scan_attr*>(c.attr);
    if (lacks(a.axis)) return fmt::format("attr: axis {} of {} dimensions", a.axis, c.in[0].ndim);
  } else if (family == FERRY_FAMILY_ATTENTION) {
    return check_attention(c);
  } else if (family == FERRY_FAMILY_ROPE) {
    return check_rope(c);
  }
  return {};
}

}  // namespace

std::string check_launch(const Call& call, MemoryMap& memory) {
  const ferry_call& c = *call.launch;
  if (c.size < sizeof(ferry_call)) return fmt::format("size: {} is too small", c.size);
  if (c.n_out == 0) return "n_out: there is no output";
  if ((c.n_in > 0 && c.in == nullptr) || c.out == nullptr) return "in, out: an array is null";
  for (uint32_t i = 0; i < c.n_in + c.n_out; ++i) {
    const bool input = i < c.n_in;
    const std::string wrong = check_tensor(call, input ? c.in[i] : c.out[i - c.n_in], memory);
    if (wrong.empty()) continue;
    return fmt::format("{}[{}]: {}", input ? "in" : "out", input ? i : i - c.n_in, wrong);
  }
  if (std::string wrong = check_aliases(call); !wrong.empty()) return wrong;
  if (std::string wrong = check_attributes(call); !wrong.empty()) return wrong;
  if (c.map != nullptr) {
    if (std::string wrong = check_program(c); !wrong.empty()) return wrong;
  }
  const uint64_t needed = call.kernel->scratch(c);
  if (c.scratch_bytes < needed) {
    return fmt::format("scratch_bytes: {} where the kernel asked for {}", c.scratch_bytes, needed);
  }
  if (c.scratch_bytes > 0) {
    const std::string wrong = memory.check_range(*call.device, c.scratch, c.scratch_bytes);
    if (!wrong.empty()) return "scratch: " + wrong;
  }
  return {};
}

}  // namespace ferry::runtime::layers
