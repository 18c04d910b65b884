// SPDX-License-Identifier: Apache-2.0
//
// Parts: names and their collection.
#include "ferry/nn/parts.h"

#include <algorithm>

#include "ferry/error.h"
#include "ferry/nn/module.h"

namespace ferry::nn {

void Parts::add(std::string_view name, Parameter& parameter) {
  check_new(name);
  parameters_.push_back({std::string(name), &parameter});
}

void Parts::add(std::string_view name, Buffer& buffer) {
  check_new(name);
  buffers_.push_back({std::string(name), &buffer});
}

void Parts::add(std::string_view name, Module& module) {
  check_new(name);
  children_.push_back({std::string(name), &module, {}});
}

void Parts::add_element(std::string_view list, size_t index, Module& module) {
  if (index == 0) check_new(list);
  std::string name(list);
  name += '.';
  name += std::to_string(index);
  children_.push_back({std::move(name), &module, std::string(list)});
}

void Parts::check_new(std::string_view name) const {
  const auto is_it = [name](const auto& part) { return part.name == name; };
  const bool taken = std::any_of(parameters_.begin(), parameters_.end(), is_it) ||
                     std::any_of(buffers_.begin(), buffers_.end(), is_it) ||
                     std::any_of(children_.begin(), children_.end(), [name](const Child& child) {
                       return (child.list.empty() ? child.name : child.list) == name;
                     });
  // Without a name, or with a dot in it, the state dict would be ambiguous.
  if (taken || name.empty() || name.find('.') != std::string_view::npos) {
    throw InvalidArgument("FERRY_MODULE",
                          taken ? "two parts have the name '" + std::string(name) + "'"
                                : "'" + std::string(name) + "' cannot be the name of a part");
  }
}

std::string_view Parts::next_name(std::string_view& names) {
  const size_t comma = names.find(',');
  std::string_view name = names.substr(0, comma);
  names = comma == std::string_view::npos ? std::string_view() : names.substr(comma + 1);
  constexpr std::string_view kSpaces = " \t\n";
  name.remove_prefix(std::min(name.find_first_not_of(kSpaces), name.size()));
  name = name.substr(0, name.find_last_not_of(kSpaces) + 1);
  // A member may be written as this->x or Base::x.
  name.remove_prefix(name.find_last_of(">:.") + 1);
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  return name;
}

}  // namespace ferry::nn
