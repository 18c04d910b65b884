// SPDX-License-Identifier: Apache-2.0
//
// Module: its parts by name, its state, its mode.
#include "ferry/nn/module.h"

#include <unordered_set>

#include "nn/slots.h"
#include "tensor/tensor_impl.h"

namespace ferry::nn {
namespace {

void collect(const Module& module, const std::string& prefix, std::vector<Slot>& out) {
  const Parts parts = parts_of(module);
  for (const auto& [name, parameter] : parts.parameters()) {
    if (parameter->defined()) {
      out.push_back({prefix + name, parameter, Slot::Kind::kParameter});
    }
  }
  for (const auto& [name, buffer] : parts.buffers()) {
    if (!buffer->defined()) continue;
    const auto kind = buffer->is_persistent() ? Slot::Kind::kBuffer : Slot::Kind::kTransientBuffer;
    out.push_back({prefix + name, buffer, kind});
  }
  for (const Parts::Child& child : parts.children()) {
    collect(*child.module, prefix + child.name + '.', out);
  }
}

void collect_modules(Module& module, const std::string& name,
                     std::vector<std::pair<std::string, Module*>>& out) {
  out.emplace_back(name, &module);
  const std::string prefix = name.empty() ? name : name + '.';
  const Parts parts = parts_of(module);
  for (const Parts::Child& child : parts.children()) {
    collect_modules(*child.module, prefix + child.name, out);
  }
}

std::vector<StateDict::Item> unique_items(const Module& module, bool parameters) {
  std::vector<StateDict::Item> out;
  std::unordered_set<const void*> seen;
  for (Slot& slot : slots_of(module)) {
    const bool wanted = (slot.kind == Slot::Kind::kParameter) == parameters;
    if (wanted && seen.insert(slot.tensor->impl()).second) {
      out.emplace_back(std::move(slot.name), *slot.tensor);
    }
  }
  return out;
}

}  // namespace

Parts parts_of(const Module& module) {
  Parts parts;
  const_cast<Module&>(module).list_parts(parts);
  return parts;
}

std::vector<Slot> slots_of(const Module& module) {
  std::vector<Slot> out;
  collect(module, "", out);
  return out;
}

bool same_view(const Tensor& a, const Tensor& b) {
  return a.is_same(b) || (a.shares_storage(b) && a.dtype() == b.dtype() &&
                          a.storage_offset() == b.storage_offset() && a.shape() == b.shape() &&
                          a.strides() == b.strides());
}

Module::~Module() = default;

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> out;
  for (auto& [name, tensor] : named_parameters()) out.push_back(tensor);
  return out;
}

std::vector<StateDict::Item> Module::named_parameters() const { return unique_items(*this, true); }

std::vector<StateDict::Item> Module::named_buffers() const { return unique_items(*this, false); }

std::vector<std::pair<std::string, Module*>> Module::named_modules() {
  std::vector<std::pair<std::string, Module*>> out;
  collect_modules(*this, "", out);
  return out;
}

std::vector<std::pair<std::string, const Module*>> Module::named_modules() const {
  const auto found = const_cast<Module*>(this)->named_modules();
  return {found.begin(), found.end()};
}

StateDict Module::state_dict() const {
  StateDict out;
  for (Slot& slot : slots_of(*this)) {
    if (slot.in_state_dict()) out.set(std::move(slot.name), *slot.tensor);
  }
  return out;
}

Module& Module::train(bool training) {
  for (const auto& [name, module] : named_modules()) module->training_ = training;
  return *this;
}

}  // namespace ferry::nn
