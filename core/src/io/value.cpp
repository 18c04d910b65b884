// SPDX-License-Identifier: Apache-2.0
//
// Value: building, reading and printing the tree of a checkpoint.
#include "ferry/io/value.h"

#include <algorithm>
#include <ostream>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "ferry/error.h"
#include "io/text.h"

namespace ferry::io {

namespace detail {

struct Dict {
  std::vector<Value::Item> items;
  std::unordered_map<std::string_view, size_t> names;  ///< views of the items' keys
  std::unordered_map<int64_t, size_t> numbers;
};

}  // namespace detail

namespace {

constexpr size_t kMostPrinted = 64 << 10;
constexpr const char* kKindNames[] = {"None",   "bool", "int",   "float", "string",
                                      "tensor", "list", "tuple", "dict"};

template <class T>
std::shared_ptr<const T> shared(T value) {
  return std::make_shared<const T>(std::move(value));
}

std::string key_text(const Value& key) {
  return key.is_int() ? std::to_string(key.as_int()) : in_quotes(key.as_string());
}

/// "'a', 'b', 'c', ..." of a dict's keys.
std::string some_keys(const std::vector<Value::Item>& items) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + key_text(items[i].key);
  }
  if (items.size() > kShown) text += ", ...";
  return items.empty() ? "none" : text;
}

bool is_state_dict(const Value& value) {
  if (!value.is_dict() || value.size() == 0) return false;
  const auto& items = value.items();
  return std::all_of(items.begin(), items.end(), [](const Value::Item& item) {
    return item.key.is_string() && item.value.is_tensor();
  });
}

}  // namespace

Value Value::of(std::string value) { return Value(Text(shared(std::move(value)))); }
Value Value::of(const StateDict& state) {
  std::vector<Item> items;
  items.reserve(state.size());
  for (const auto& [name, tensor] : state) items.push_back({of(name), of(tensor)});
  return dict(std::move(items));
}

Value Value::list(std::vector<Value> values) { return Value(List{shared(std::move(values))}); }
Value Value::tuple(std::vector<Value> values) {
  return Value(List{shared(std::move(values)), true});
}

Value Value::dict(std::vector<Item> items) {
  auto dict = std::make_shared<detail::Dict>();
  dict->items.reserve(items.size());
  for (Item& item : items) {
    const size_t next = dict->items.size();
    size_t at = next;
    if (item.key.is_string()) {
      at = dict->names.emplace(item.key.as_string(), next).first->second;
    } else if (item.key.is_int()) {
      at = dict->numbers.emplace(item.key.as_int(), next).first->second;
    } else {
      throw InvalidArgument("Value::dict", fmt::format("a key is a string or an int, not a {}",
                                                       item.key.kind_name()));
    }
    if (at == next)
      dict->items.push_back(std::move(item));
    else
      dict->items[at].value = std::move(item.value);
  }
  return Value(Dict(std::move(dict)));
}

Value::Kind Value::kind() const noexcept {
  constexpr size_t kListIndex = 6;
  if (rep_.index() < kListIndex) return static_cast<Kind>(rep_.index());
  if (const List* list = std::get_if<List>(&rep_)) return list->tuple ? Kind::kTuple : Kind::kList;
  return Kind::kDict;
}

std::string_view Value::kind_name() const noexcept {
  return kKindNames[static_cast<size_t>(kind())];
}

void Value::refuse(const char* where, const char* wanted) const {
  throw InvalidArgument(where, fmt::format("the value is a {}, not a {}", kind_name(), wanted));
}

bool Value::as_bool() const {
  if (const bool* value = std::get_if<bool>(&rep_)) return *value;
  refuse("as_bool", "bool");
}
int64_t Value::as_int() const {
  if (const int64_t* value = std::get_if<int64_t>(&rep_)) return *value;
  refuse("as_int", "int");
}
double Value::as_double() const {
  if (const double* value = std::get_if<double>(&rep_)) return *value;
  if (is_int()) return static_cast<double>(as_int());
  refuse("as_double", "float");
}
const std::string& Value::as_string() const {
  if (const Text* value = std::get_if<Text>(&rep_)) return **value;
  refuse("as_string", "string");
}
const Tensor& Value::as_tensor() const {
  if (const Tensor* value = std::get_if<Tensor>(&rep_)) return *value;
  if (is_dict()) {
    throw InvalidArgument("as_tensor",
                          "the value is a dict, not a tensor; take one of its entries "
                          "with at(): " +
                              some_keys(items()));
  }
  refuse("as_tensor", "tensor");
}

const std::vector<Value>& Value::elements(const char* where) const {
  if (const List* list = std::get_if<List>(&rep_)) return *list->values;
  refuse(where, "list or tuple");
}
const detail::Dict& Value::entries(const char* where) const {
  if (const Dict* dict = std::get_if<Dict>(&rep_)) return **dict;
  refuse(where, "dict");
}

size_t Value::size() const {
  return is_dict() ? entries("size").items.size() : elements("size").size();
}

Value Value::at(std::string_view key) const {
  const detail::Dict& dict = entries("at");
  const auto found = dict.names.find(key);
  if (found != dict.names.end()) return dict.items[found->second].value;
  throw InvalidArgument("at",
                        fmt::format("there is no key {}; the {} keys here: {}", in_quotes(key),
                                    dict.items.size(), some_keys(dict.items)));
}

Value Value::at(int64_t index) const {
  if (is_dict()) {
    const detail::Dict& dict = entries("at");
    const auto found = dict.numbers.find(index);
    if (found != dict.numbers.end()) return dict.items[found->second].value;
    throw InvalidArgument("at", fmt::format("there is no key {}; the {} keys here: {}", index,
                                            dict.items.size(), some_keys(dict.items)));
  }
  const std::vector<Value>& values = elements("at");
  if (index < 0 || static_cast<uint64_t>(index) >= values.size()) {
    throw InvalidArgument(
        "at", fmt::format("index {} is outside a {} of {}", index, kind_name(), values.size()));
  }
  return values[static_cast<size_t>(index)];
}

bool Value::contains(std::string_view key) const noexcept {
  const Dict* dict = std::get_if<Dict>(&rep_);
  return dict != nullptr && (*dict)->names.find(key) != (*dict)->names.end();
}

const std::vector<Value::Item>& Value::items() const& { return entries("items").items; }
std::vector<Value::Item> Value::items() && { return entries("items").items; }
std::vector<Value>::const_iterator Value::begin() const { return elements("begin").begin(); }
std::vector<Value>::const_iterator Value::end() const { return elements("end").end(); }

Value::operator StateDict() const {
  constexpr const char* kWhere = "StateDict";
  if (!is_dict()) refuse(kWhere, "dict of tensors");
  StateDict state;
  for (const auto& [key, value] : items()) {
    if (key.is_string() && value.is_tensor()) {
      state.set(key.as_string(), value.as_tensor());
      continue;
    }
    std::string text = fmt::format("the value is no state dict: the entry {} is a {}, not a tensor",
                                   key_text(key), value.kind_name());
    for (const Item& item : items()) {
      if (item.key.is_string() && is_state_dict(item.value)) {
        text += fmt::format("; the entry {0} is one: take it with at(\"{1}\")", key_text(item.key),
                            item.key.as_string());
        break;
      }
    }
    throw InvalidArgument(kWhere, text);
  }
  return state;
}

void Value::print(std::string& out) const {
  const auto separate = [&out](size_t i) { out += i == 0 ? "" : ", "; };
  switch (kind()) {
    case Kind::kNone:
      out += "None";
      return;
    case Kind::kBool:
      out += as_bool() ? "True" : "False";
      return;
    case Kind::kInt:
      out += std::to_string(as_int());
      return;
    case Kind::kFloat: {
      const std::string number = fmt::format("{}", as_double());
      out += number;
      if (number.find_first_of(".en") == std::string::npos) out += ".0";
      return;
    }
    case Kind::kString:
      out += in_quotes(as_string(), kMostPrinted);
      return;
    case Kind::kTensor: {
      const Tensor& t = as_tensor();
      out += t.defined() ? fmt::format("tensor({} {})", name(t.dtype()), to_string(t.shape()))
                         : "tensor(undefined)";
      return;
    }
    case Kind::kDict:
      out += '{';
      for (size_t i = 0; i < size() && out.size() < kMostPrinted; ++i) {
        separate(i);
        out += key_text(items()[i].key) + ": ";
        items()[i].value.print(out);
      }
      out += '}';
      return;
    case Kind::kList:
    case Kind::kTuple:
      out += is_list() ? '[' : '(';
      for (size_t i = 0; i < size() && out.size() < kMostPrinted; ++i) {
        separate(i);
        elements("str")[i].print(out);
      }
      if (is_tuple() && size() == 1) out += ',';
      out += is_list() ? ']' : ')';
      return;
  }
}

std::string Value::str() const {
  std::string out;
  print(out);
  if (out.size() > kMostPrinted) out.replace(kMostPrinted, std::string::npos, "...");
  return out;
}

std::ostream& operator<<(std::ostream& out, const Value& value) { return out << value.str(); }

}  // namespace ferry::io
