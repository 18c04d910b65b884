// SPDX-License-Identifier: Apache-2.0
//
// Objects of a pickle become Values, each once.
#include "io/tree_builder.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "tensor/tensor_impl.h"

namespace ferry::io {
namespace {

constexpr const char* kWhere = "load";
// Python itself cannot write deeper ones.
constexpr int kMostDepth = 200;

}  // namespace

TreeBuilder::TreeBuilder(const TorchFile& torch, ReadStorage read)
    : torch_(torch),
      objects_(torch.objects),
      read_(std::move(read)),
      made_(objects_.size()),
      state_(objects_.size(), State::kNew),
      storages_(torch.table->storages().size()) {}

Value TreeBuilder::build(Ref ref, int depth) {
  if (state_[ref] == State::kDone) return made_[ref];
  if (state_[ref] == State::kBegun) torch_.fail("an object in it contains itself");
  if (depth > kMostDepth) {
    torch_.fail(fmt::format("it is nested deeper than {} levels", kMostDepth));
  }
  state_[ref] = State::kBegun;
  made_[ref] = make(objects_[ref], depth);
  state_[ref] = State::kDone;
  return made_[ref];
}

Value TreeBuilder::make(const PickleObject& object, int depth) {
  if (const auto* value = std::get_if<bool>(&object)) return Value::of(*value);
  if (const auto* value = std::get_if<int64_t>(&object)) return Value::of(*value);
  if (const auto* value = std::get_if<double>(&object)) return Value::of(*value);
  if (const auto* value = std::get_if<std::string>(&object)) return Value::of(*value);
  if (const auto* list = std::get_if<PickleList>(&object)) {
    return Value::list(build_all(list->items, depth));
  }
  if (const auto* tuple = std::get_if<PickleTuple>(&object)) {
    return Value::tuple(build_all(tuple->items, depth));
  }
  if (const auto* dict = std::get_if<PickleDict>(&object)) return build_dict(*dict, depth);
  if (const auto* name = std::get_if<PickleGlobal>(&object)) {
    return Value::of(torch_.table->name_of(*name));
  }
  if (const auto* part = std::get_if<PickleStorage>(&object)) return Value::of(tensor_of(*part));
  if (const auto* tensor = std::get_if<PickleTensor>(&object)) {
    return Value::of(tensor_of(torch_.table->tensors()[tensor->index]));
  }
  return Value();
}

std::vector<Value> TreeBuilder::build_all(const std::vector<Ref>& refs, int depth) {
  std::vector<Value> values;
  values.reserve(refs.size());
  for (const Ref ref : refs) values.push_back(build(ref, depth + 1));
  return values;
}

Value TreeBuilder::build_dict(const PickleDict& dict, int depth) {
  std::vector<Value::Item> items;
  items.reserve(dict.items.size());
  for (const auto& [key_ref, value_ref] : dict.items) {
    const PickleObject& key = objects_[key_ref];
    if (!std::holds_alternative<std::string>(key) && !std::holds_alternative<int64_t>(key)) {
      torch_.fail(
          fmt::format("a dict in it has {} as a key; strings and ints can be", words_for(key)));
    }
    items.push_back({build(key_ref, depth + 1), build(value_ref, depth + 1)});
  }
  return Value::dict(std::move(items));
}

Tensor TreeBuilder::tensor_of(const TorchTensor& tensor) {
  return ferry::detail::make_view(storage(tensor.storage), tensor.dtype, tensor.shape,
                                  tensor.strides, tensor.offset, kWhere);
}

Tensor TreeBuilder::tensor_of(const PickleStorage& part) {
  const int64_t stride = 1;
  return ferry::detail::make_view(storage(part.index), torch_.table->storages()[part.index].dtype,
                                  {&part.count, 1}, {&stride, 1}, part.offset, kWhere);
}

ferry::detail::Storage* TreeBuilder::storage(uint32_t index) {
  StorageHandle& handle = storages_[index];
  if (handle.get() == nullptr) handle = read_(torch_.table->storages()[index]);
  return handle.get();
}

}  // namespace ferry::io
