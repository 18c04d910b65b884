// SPDX-License-Identifier: Apache-2.0
//
// launch(): kernel selection, scratch memory and the CPU fallback.
#include "ops/dispatch.h"

#include <array>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "ferry/error.h"
#include "runtime/copy.h"
#include "runtime/host_services.h"
#include "runtime/log.h"
#include "runtime/submission.h"

namespace ferry::ops {
namespace {

using runtime::copy_bytes;
using runtime::family_name;
using runtime::log;

ferry_tensor describe(const Tensor& tensor) {
  const detail::TensorImpl& impl = *tensor.impl();
  ferry_tensor out;
  const auto item = static_cast<uint64_t>(item_size(impl.dtype));
  out.at = impl.storage->at;
  out.at.offset += static_cast<uint64_t>(impl.offset) * item;
  out.dtype = static_cast<ferry_dtype>(impl.dtype);
  out.ndim = impl.ndim;
  for (size_t d = 0; d < FERRY_MAX_DIMS; ++d) {
    out.shape[d] = impl.shape_[d];
    out.stride[d] = impl.stride_[d];
  }
  return out;
}

/// The arrays of a ferry_call, filled from tensors.
struct CallData {
  std::array<ferry_tensor, kMaxTensors> tensors;
  ferry_call call{};
  uint64_t dtypes = 0;
  bool contiguous = true;

  CallData(DeviceState& device, const Launch& l) {
    if (l.in.size() + l.out.size() > kMaxTensors) {
      throw InternalError(l.op, "more than " + std::to_string(kMaxTensors) + " tensors in a call");
    }
    size_t n = 0;
    for (const auto list : {l.in, l.out}) {
      for (const Tensor& t : list) {
        tensors[n] = describe(t);
        dtypes |= FERRY_DTYPE_BIT(tensors[n].dtype);
        contiguous = contiguous && t.impl()->contiguous;
        ++n;
      }
    }
    call.size = sizeof(ferry_call);
    call.n_in = static_cast<uint32_t>(l.in.size());
    call.n_out = static_cast<uint32_t>(l.out.size());
    call.in = tensors.data();
    call.out = tensors.data() + l.in.size();
    call.attr = l.attr;
    call.map = l.map;
    call.device = device.hal().handle();
  }
};

/// Memory for one launch, free again behind it in stream order.
class Scratch {
 public:
  Scratch(DeviceState& device, uint64_t bytes)
      : storage_(bytes > 0 ? detail::new_storage(device, bytes) : nullptr) {}
  ~Scratch() {
    if (storage_ != nullptr) detail::release(storage_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  ferry_location location() const { return storage_ != nullptr ? storage_->at : ferry_location{}; }
  uint64_t bytes() const { return storage_ != nullptr ? storage_->bytes : 0; }
  void used(const runtime::Use& use) {
    if (storage_ != nullptr && storage_->device->many_streams()) storage_->uses.set_write(use);
  }

 private:
  detail::Storage* storage_;
};

enum class Choice { kRan, kNeedsContiguous, kNone };

/// Runs the first kernel that takes the call.
Choice try_kernels(DeviceState& device, const Launch& l, CallData& data,
                   std::span<const hal::Kernel* const> kernels) {
  bool needs_contiguous = false;
  for (const hal::Kernel* kernel : kernels) {
    const hal::KernelTraits& traits = kernel->traits();
    if ((data.dtypes & ~traits.dtypes) != 0) continue;
    if (!data.contiguous && (traits.flags & FERRY_KERNEL_STRIDED) == 0) {
      needs_contiguous = true;
      continue;
    }
    const hal::Status accepted = kernel->check(data.call);
    if (accepted.code() == FERRY_DECLINED) continue;
    device.check(accepted, l.op);
    Scratch scratch(device, kernel->scratch(data.call));
    data.call.scratch = scratch.location();
    data.call.scratch_bytes = scratch.bytes();
    runtime::Submission work(device);
    for (const Tensor& t : l.in) work.reads(*t.impl()->storage);
    for (const Tensor& t : l.out) work.writes(*t.impl()->storage);
    work.begin();
    data.call.stream = work.stream() != nullptr ? work.stream()->handle() : nullptr;
    const hal::Status launched = kernel->launch(data.call);
    scratch.used(work.end(l.op));
    device.check(launched, l.op);
    return Choice::kRan;
  }
  return needs_contiguous ? Choice::kNeedsContiguous : Choice::kNone;
}

enum class Policy { kError, kWarn, kAllow };

/// FERRY_FALLBACK, read once.
Policy policy() {
  static const Policy value = [] {
    const char* text = secure_getenv("FERRY_FALLBACK");
    const std::string word = text != nullptr ? text : "warn";
    if (word == "error") return Policy::kError;
    if (word == "allow") return Policy::kAllow;
    if (word != "warn") {
      throw InvalidArgument("FERRY_FALLBACK", "'" + word + "' is not one of error, warn, allow");
    }
    return Policy::kWarn;
  }();
  return value;
}

void announce(const DeviceState& device, const Launch& l) {
  const std::string what = std::string(l.op) + " (" + family_name(l.family) + ")";
  if (policy() == Policy::kError) {
    std::string dtypes;
    for (const Tensor& t : l.in) {
      dtypes += (dtypes.empty() ? "" : ", ") + std::string(name(t.dtype())) + to_string(t.shape());
    }
    throw UnsupportedError(
        l.op, device.device().str() + " has no " + family_name(l.family) + " kernel for " + dtypes +
                  ", and FERRY_FALLBACK=error forbids the CPU. Set FERRY_FALLBACK=warn or move "
                  "the tensors to the CPU");
  }
  if (policy() == Policy::kAllow) return;
  static std::mutex mutex;
  static auto* const told = new std::set<std::string>();
  const std::string key = device.device().str() + " " + what;
  {
    const std::lock_guard lock(mutex);
    if (!told->insert(key).second) return;
  }
  log(LogLevel::kWarn, "dispatch",
      device.device().str() + " has no kernel for " + what + ": it runs on the CPU (said once)");
}

/// The same elements on the CPU, by a raw copy of the range they lie in, so
/// that the device needs no kernel for it. Strides stay.
Tensor mirror(DeviceState& cpu, const Tensor& tensor, bool with_contents) {
  const detail::TensorImpl& impl = *tensor.impl();
  const detail::Span span = detail::span_of(impl);
  const uint64_t item = item_size(impl.dtype);
  const uint64_t bytes = static_cast<uint64_t>(span.end - span.begin) * item;
  detail::Storage* storage = detail::new_storage(cpu, bytes);
  Tensor out;
  try {
    if (with_contents) {
      copy_bytes({storage, 0}, {impl.storage, static_cast<uint64_t>(span.begin) * item}, bytes);
    }
    out = detail::make_view(storage, impl.dtype, impl.shape(), impl.strides(), 0, "fallback");
  } catch (...) {
    detail::release(storage);
    throw;
  }
  detail::release(storage);
  return out;
}

void run_on_cpu(DeviceState& device, const Launch& l) {
  announce(device, l);
  DeviceState& cpu = DeviceState::get(Device());
  std::vector<Tensor> in, out;
  uint64_t bytes = 0;
  for (const Tensor& t : l.in) {
    in.push_back(mirror(cpu, t, true));
    bytes += in.back().impl()->storage->bytes;
  }
  for (const Tensor& t : l.out) {
    // Between the elements of a strided output lies other data, to be kept.
    out.push_back(mirror(cpu, t, !detail::is_dense(t.impl()->shape(), t.impl()->strides())));
  }
  Launch copy = l;
  copy.in = in;
  copy.out = out;
  launch(cpu, copy);
  for (size_t i = 0; i < out.size(); ++i) {
    const detail::TensorImpl& to = *l.out[i].impl();
    const detail::Span span = detail::span_of(to);
    const uint64_t item = item_size(to.dtype);
    const uint64_t n = static_cast<uint64_t>(span.end - span.begin) * item;
    copy_bytes({to.storage, static_cast<uint64_t>(span.begin) * item}, {out[i].impl()->storage, 0},
               n);
    bytes += n;
  }
  device.count_fallback(bytes);
}

}  // namespace

bool try_launch(DeviceState& device, const Launch& l) {
  return try_launch(device, l, device.kernels(l.family));
}

bool try_launch(DeviceState& device, const Launch& l, std::span<const hal::Kernel* const> kernels) {
  CallData data(device, l);
  const Choice choice = try_kernels(device, l, data, kernels);
  if (choice == Choice::kRan) return true;
  if (choice == Choice::kNone || l.family == Family::kMap) return false;
  // Outputs are fresh and contiguous for every family of the core but map.
  std::vector<Tensor> in;
  for (const Tensor& t : l.in) in.push_back(t.contiguous());
  Launch dense = l;
  dense.in = in;
  CallData dense_data(device, dense);
  return try_kernels(device, dense, dense_data, kernels) == Choice::kRan;
}

void launch(DeviceState& device, const Launch& l) {
  if (try_launch(device, l)) return;
  if (device.device().is_cpu()) {
    std::string given;
    for (const Tensor& t : l.in) {
      given += (given.empty() ? "" : ", ") + std::string(name(t.dtype())) + to_string(t.shape());
    }
    throw UnsupportedError(l.op, "the CPU backend has no " + std::string(family_name(l.family)) +
                                     " kernel for " + given);
  }
  run_on_cpu(device, l);
}

}  // namespace ferry::ops
