// SPDX-License-Identifier: Apache-2.0
//
// call() and extension(): a plugin's own kernel families and tables.
#include "ferry/call.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "ferry/error.h"
#include "ops/dispatch.h"
#include "runtime/registry.h"
#include "tensor/tensor_impl.h"

namespace ferry {

using detail::impl_of;
using detail::TensorImpl;
using ops::DeviceState;
using ops::Family;

namespace {

constexpr const char* kWhere = "call";

std::string describe(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& t : tensors) {
    text += (text.empty() ? "" : ", ") + std::string(name(t.dtype())) + to_string(t.shape());
  }
  return text.empty() ? "no tensors" : text;
}

/// The device of all tensors, each of which has elements.
DeviceState& device_of(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  if (outputs.empty()) throw InvalidArgument(kWhere, "there is no output to write");
  if (inputs.size() + outputs.size() > ops::kMaxTensors) {
    throw InvalidArgument(kWhere, std::to_string(inputs.size() + outputs.size()) +
                                      " tensors are too many, " + std::to_string(ops::kMaxTensors) +
                                      " at most");
  }
  DeviceState& device = *impl_of(outputs[0], kWhere).storage->device;
  for (const auto* list : {&inputs, &outputs}) {
    for (const Tensor& t : *list) {
      const TensorImpl& impl = impl_of(t, kWhere);
      if (impl.storage->device != &device) {
        throw InvalidArgument(kWhere, "tensors are on " + device.device().str() + " and " +
                                          impl.storage->device->device().str() +
                                          "; move them to one device");
      }
      if (impl.numel == 0) {
        throw InvalidArgument(kWhere,
                              "a tensor of shape " + to_string(impl.shape()) +
                                  " has no elements; what that means only the family knows, "
                                  "so settle it before the call");
      }
    }
  }
  return device;
}

bool same_view(const TensorImpl& a, const TensorImpl& b) {
  return a.offset == b.offset && a.dtype == b.dtype && std::ranges::equal(a.shape(), b.shape()) &&
         std::ranges::equal(a.strides(), b.strides());
}

bool overlap(const TensorImpl& a, const TensorImpl& b) {
  if (a.storage != b.storage) return false;
  const auto item_a = static_cast<int64_t>(item_size(a.dtype));
  const auto item_b = static_cast<int64_t>(item_size(b.dtype));
  const detail::Span s = detail::span_of(a), t = detail::span_of(b);
  return s.begin * item_a < t.end * item_b && t.begin * item_b < s.end * item_a;
}

/// Whether an output is exactly an input. InvalidArgument for outputs that share
/// memory in another way.
bool writes_in_place(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  bool in_place = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorImpl& out = *outputs[i].impl();
    if (detail::may_overlap_itself(out.shape(), out.strides())) {
      throw InvalidArgument(kWhere, "elements of output " + std::to_string(i) + " share memory");
    }
    for (size_t k = 0; k < i; ++k) {
      if (!overlap(out, *outputs[k].impl())) continue;
      throw InvalidArgument(
          kWhere, "outputs " + std::to_string(k) + " and " + std::to_string(i) + " share memory");
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      const TensorImpl& in = *inputs[k].impl();
      if (!overlap(out, in)) continue;
      if (!same_view(out, in)) {
        throw InvalidArgument(kWhere, "output " + std::to_string(i) + " shares memory with input " +
                                          std::to_string(k) + " and is not the same view");
      }
      in_place = true;
    }
  }
  return in_place;
}

std::string families_of(const DeviceState& device) {
  std::vector<std::string> names;
  for (int f = 0; f < runtime::kFamilyCount; ++f) {
    const auto family = static_cast<Family>(f);
    if (!device.kernels(family).empty()) names.emplace_back(runtime::family_name(family));
  }
  for (const hal::Kernel* kernel : device.other_kernels()) {
    const std::string name = kernel->traits().family;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "no kernels at all" : text;
}

}  // namespace

void call(std::string_view family, const std::vector<Tensor>& inputs,
          const std::vector<Tensor>& outputs, const void* attributes) {
  for (int f = 0; f < runtime::kFamilyCount; ++f) {
    if (family == runtime::family_name(static_cast<Family>(f))) {
      throw InvalidArgument(kWhere, std::string(family) +
                                        " is a family of Ferry's own; use the functions of "
                                        "ferry/ops.h");
    }
  }
  DeviceState& device = device_of(inputs, outputs);
  const bool in_place = writes_in_place(inputs, outputs);
  bool known = false;
  std::vector<const hal::Kernel*> kernels;
  for (const hal::Kernel* kernel : device.other_kernels()) {
    if (family != kernel->traits().family) continue;
    known = true;
    if (in_place && (kernel->traits().flags & FERRY_KERNEL_INPLACE) == 0) continue;
    kernels.push_back(kernel);
  }
  const std::string device_name = device.device().str();
  if (!known) {
    throw UnsupportedError(kWhere, device_name + " has no kernel family '" + std::string(family) +
                                       "'; it has " + families_of(device));
  }
  // The kernel's own text of the name lives as long as the process.
  const bool ran = !kernels.empty() && ops::try_launch(device,
                                                       {kernels[0]->traits().family, Family::kOther,
                                                        inputs, outputs, attributes, nullptr},
                                                       kernels);
  if (!ran) {
    throw UnsupportedError(kWhere, std::string(family) + " of " + device_name + " does not take " +
                                       describe(inputs) + " to " + describe(outputs) +
                                       (in_place ? " in place" : ""));
  }
  for (const Tensor& out : outputs) out.impl()->version.fetch_add(1, std::memory_order_relaxed);
}

const void* extension(const Device& device, std::string_view name) {
  const auto& backends = runtime::Registry::get().backends();
  const auto id = static_cast<size_t>(device.backend_id());
  if (id >= backends.size() || backends[id]->backend == nullptr) return nullptr;
  for (const ferry_extension& extension : backends[id]->backend->extensions()) {
    if (name == extension.name) return extension.table;
  }
  return nullptr;
}

}  // namespace ferry
