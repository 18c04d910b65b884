// SPDX-License-Identifier: Apache-2.0
//
// Value: the small typed tree that a checkpoint file holds.
#ifndef FERRY_IO_VALUE_H
#define FERRY_IO_VALUE_H

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ferry/export.h"
#include "ferry/state_dict.h"
#include "ferry/tensor.h"

namespace ferry::io {

namespace detail {
struct Dict;
}

/// None, a bool, an integer, a number, a string, a tensor, or a list, tuple or
/// dict of these. Immutable; copies are cheap and share what they hold. Safe to
/// read from several threads.
class FERRY_API Value {
 public:
  enum class Kind { kNone, kBool, kInt, kFloat, kString, kTensor, kList, kTuple, kDict };
  /// An entry of a dict. The key is a string or an integer.
  struct Item;

  Value() noexcept = default;  ///< None
  static Value of(bool value) { return Value(value); }
  static Value of(int64_t value) { return Value(value); }
  static Value of(double value) { return Value(value); }
  static Value of(std::string value);
  static Value of(const char* value) { return of(std::string(value)); }
  static Value of(Tensor value) { return Value(std::move(value)); }
  /// A dict from the names to the tensors.
  static Value of(const StateDict& state);
  static Value list(std::vector<Value> values);
  static Value tuple(std::vector<Value> values);
  /// Keeps the order. A key that comes again replaces the earlier value in its
  /// place. InvalidArgument for a key that is no string or integer.
  static Value dict(std::vector<Item> items);

  Kind kind() const noexcept;
  /// "None", "bool", "int", "float", "string", "tensor", "list", "tuple", "dict".
  std::string_view kind_name() const noexcept;
  bool is_none() const noexcept { return kind() == Kind::kNone; }
  bool is_bool() const noexcept { return kind() == Kind::kBool; }
  bool is_int() const noexcept { return kind() == Kind::kInt; }
  bool is_float() const noexcept { return kind() == Kind::kFloat; }
  bool is_string() const noexcept { return kind() == Kind::kString; }
  bool is_tensor() const noexcept { return kind() == Kind::kTensor; }
  bool is_list() const noexcept { return kind() == Kind::kList; }
  bool is_tuple() const noexcept { return kind() == Kind::kTuple; }
  bool is_dict() const noexcept { return kind() == Kind::kDict; }

  // InvalidArgument, naming what it is instead, where the kind differs.
  bool as_bool() const;
  int64_t as_int() const;
  double as_double() const;  ///< of an int as well
  const std::string& as_string() const;
  const Tensor& as_tensor() const;

  /// Entries of a list, tuple or dict.
  size_t size() const;
  /// The value of a dict's key. InvalidArgument, naming keys that exist, where
  /// it is absent.
  Value at(std::string_view key) const;
  /// An element of a list or tuple, or the value of a dict's integer key.
  Value at(int64_t index) const;
  /// Whether this is a dict with that key.
  bool contains(std::string_view key) const noexcept;

  /// Entries of a dict, in the file's order.
  const std::vector<Item>& items() const&;
  std::vector<Item> items() &&;
  /// Elements of a list or tuple.
  std::vector<Value>::const_iterator begin() const;
  std::vector<Value>::const_iterator end() const;

  operator Tensor() const { return as_tensor(); }  // NOLINT(google-explicit-constructor)
  /// A dict from strings to tensors alone. InvalidArgument otherwise, naming
  /// the entry that does not fit and, where an entry of the dict is itself a
  /// state dict, that entry.
  operator StateDict() const;  // NOLINT(google-explicit-constructor)

  /// One line in Python's notation; tensors as dtype and shape. Long ones end
  /// in "...".
  std::string str() const;

 private:
  using Text = std::shared_ptr<const std::string>;
  struct List {
    std::shared_ptr<const std::vector<Value>> values;
    bool tuple = false;
  };
  using Dict = std::shared_ptr<const detail::Dict>;
  using Rep = std::variant<std::monostate, bool, int64_t, double, Text, Tensor, List, Dict>;

  template <class T>
  explicit Value(T value) : rep_(std::move(value)) {}
  const std::vector<Value>& elements(const char* where) const;
  const detail::Dict& entries(const char* where) const;
  [[noreturn]] void refuse(const char* where, const char* wanted) const;
  void print(std::string& out) const;

  Rep rep_;
};

struct Value::Item {
  Value key, value;
};

FERRY_API std::ostream& operator<<(std::ostream& out, const Value& value);

}  // namespace ferry::io

#endif  // FERRY_IO_VALUE_H
