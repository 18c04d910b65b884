// SPDX-License-Identifier: Apache-2.0
//
// Names of calls and of the functions that made them.
#include "runtime/layers/describe.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace ferry::runtime::layers {
namespace {

struct DtypeName {
  const char* name;
  uint64_t bytes;
};
constexpr DtypeName kDtypes[] = {{"bool", 1}, {"u8", 1},  {"i8", 1},   {"i16", 2}, {"i32", 4},
                                 {"i64", 8},  {"f16", 2}, {"bf16", 2}, {"f32", 4}, {"f64", 8}};

const char* scalar_op(uint16_t code) {
  switch (code) {
#define FERRY_SCALAR_OP(code, upper, name, arity, rule, formula, judge, ulp) \
  case code:                                                                 \
    return #name;
#include "ferry/abi/scalar_ops.def"
#undef FERRY_SCALAR_OP
  }
  return "unknown";
}

std::string program_name(const ferry_program& program) {
  constexpr uint32_t kMost = 6;
  std::string out;
  for (uint32_t i = 0; i < std::min(program.n_insn, kMost); ++i) {
    out += (i == 0 ? "" : "+") + std::string(scalar_op(program.insns[i].op));
  }
  if (program.n_insn > kMost) out += fmt::format("+{} more", program.n_insn - kMost);
  return out.empty() ? "copy" : out;
}

const char* reduce_name(const void* attr) {
  constexpr const char* kOps[] = {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"};
  const auto* a = static_cast<const ferry_reduce_attr*>(attr);
  return a == nullptr || a->op >= std::size(kOps) ? "reduce" : kOps[a->op];
}

struct Frame {
  std::string text;
  bool ours = false;       ///< in this library
  std::string interface_;  ///< its name, where it is a function of the interface
};

Frame name_frame(void* address) {
  Dl_info info{}, own{};
  Frame frame;
  // A return address is behind the call, which may be the function's last byte.
  const auto* inside = static_cast<const char*>(address) - 1;
  if (dladdr(inside, &info) == 0 || info.dli_fname == nullptr) {
    frame.text = fmt::format("{}", address);
    return frame;
  }
  static const char marker = 0;
  frame.ours = dladdr(&marker, &own) != 0 && own.dli_fbase == info.dli_fbase;
  const char* slash = std::strrchr(info.dli_fname, '/');
  const char* file = slash != nullptr ? slash + 1 : info.dli_fname;
  if (info.dli_sname == nullptr) {
    frame.text = fmt::format("{}+{:#x}", file, inside - static_cast<const char*>(info.dli_fbase));
    return frame;
  }
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &failed), &std::free);
  frame.text = failed == 0 && plain != nullptr ? plain.get() : info.dli_sname;
  frame.text = frame.text.substr(0, frame.text.find('('));
  if (frame.ours) frame.interface_ = frame.text;
  return frame;
}

}  // namespace

uint64_t bytes_of(ferry_dtype dtype) {
  return dtype < std::size(kDtypes) ? kDtypes[dtype].bytes : 0;
}

bool is_contiguous(const ferry_tensor& tensor) {
  int64_t expected = 1;
  for (uint32_t d = std::min<uint32_t>(tensor.ndim, FERRY_MAX_DIMS); d-- > 0;) {
    if (tensor.shape[d] != 1 && tensor.stride[d] != expected) return false;
    expected *= tensor.shape[d];
  }
  return true;
}

std::string describe(const ferry_tensor& tensor) {
  std::string out = tensor.dtype < std::size(kDtypes) ? kDtypes[tensor.dtype].name
                                                      : fmt::format("dtype {}", tensor.dtype);
  const uint32_t ndim = std::min<uint32_t>(tensor.ndim, FERRY_MAX_DIMS);
  const auto list = [ndim](const int64_t* values) {
    std::string text = "[";
    for (uint32_t d = 0; d < ndim; ++d) text += fmt::format("{}{}", d == 0 ? "" : ", ", values[d]);
    return text + "]";
  };
  out += list(tensor.shape);
  if (!is_contiguous(tensor)) out += " strides " + list(tensor.stride);
  return out;
}

std::string op_of(const hal::Kernel& kernel, const ferry_call& call) {
  const std::string_view family = kernel.traits().family;
  const std::string map = call.map != nullptr ? program_name(*call.map) : "";
  if (family == FERRY_FAMILY_MAP) return map.empty() ? "map" : map;
  std::string out(family.substr(0, family.find('/')));
  if (family == FERRY_FAMILY_REDUCE) out = reduce_name(call.attr);
  if (family == FERRY_FAMILY_CONV && call.attr != nullptr) {
    out = fmt::format("conv{}d", static_cast<const ferry_conv_attr*>(call.attr)->spatial);
  }
  return map.empty() ? out : out + " with " + map;
}

std::string describe_launch(const hal::Kernel& kernel, const ferry_call& call) {
  std::string out = op_of(kernel, call);
  for (uint32_t i = 0; call.in != nullptr && i < call.n_in; ++i) {
    out += (i == 0 ? " " : ", ") + describe(call.in[i]);
  }
  for (uint32_t i = 0; call.out != nullptr && i < call.n_out; ++i) {
    out += (i == 0 ? " -> " : ", ") + describe(call.out[i]);
  }
  return out;
}

std::string describe(const Call& call) {
  if (call.function == Function::kLaunch) {
    return fmt::format("launch of {} ({})", describe_launch(*call.kernel, *call.launch),
                       call.kernel->traits().family);
  }
  if (is_work(call.function))
    return fmt::format("{} of {} bytes", name_of(call.function), call.bytes);
  return name_of(call.function);
}

std::string in_units(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) return fmt::format("{:.1f} KiB", kib);
  return kib < 1024.0 * 1024 ? fmt::format("{:.1f} MiB", kib / 1024)
                             : fmt::format("{:.1f} GiB", kib / 1024 / 1024);
}

Origin Origin::here() {
  Origin out;
  (void)backtrace(out.frames_.data(), static_cast<int>(kKept));
  return out;
}

std::string Origin::op() const {
  for (void* address : frames_) {
    if (address == nullptr) break;
    Frame frame = name_frame(address);
    if (!frame.interface_.empty()) return frame.interface_;
  }
  return {};
}

std::string Origin::frames() const {
  std::string out;
  int shown = 0;
  for (void* address : frames_) {
    if (address == nullptr || shown == kShown) break;
    const Frame frame = name_frame(address);
    // What has no name in this library is its inside.
    if (frame.ours && frame.interface_.empty()) continue;
    out += (shown++ == 0 ? "" : " < ") + frame.text;
  }
  return out.empty() ? "an unknown place" : out;
}

}  // namespace ferry::runtime::layers
