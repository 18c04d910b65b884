// SPDX-License-Identifier: Apache-2.0
//
// Cases of fixtures/functions.pt: arguments, and what PyTorch made of them.
#ifndef FERRY_TESTS_OPS_FUNCTION_CASES_H
#define FERRY_TESTS_OPS_FUNCTION_CASES_H

#include <array>
#include <map>
#include <string>
#include <vector>

#include "common.h"
#include "ferry/io/load.h"

namespace ferry::test {

/// One call, with its tensors on a device.
class FunctionCase {
 public:
  FunctionCase(io::Value value, const Device& device) : value_(std::move(value)), device_(device) {}

  const Device& device() const { return device_; }
  std::string op() const { return value_.at("op").as_string(); }
  bool is_refused() const { return value_.at("out").is_none(); }
  io::Value out() const { return value_.at("out"); }
  /// Arguments and shapes, to find the case by.
  std::string str() const { return value_.str(); }

  bool has_tensor(const std::string& key) const { return value_.at("in").contains(key); }
  /// Undefined where the case has none of that name.
  Tensor tensor(const std::string& key) const {
    return has_tensor(key) ? value_.at("in").at(key).as_tensor().to(device_) : Tensor();
  }
  bool has(const char* key) const { return value_.at("args").contains(key); }
  double number(const char* key) const { return arg(key).as_double(); }
  double number(const char* key, double absent) const { return has(key) ? number(key) : absent; }
  int64_t integer(const char* key) const { return arg(key).as_int(); }
  int64_t integer(const char* key, int64_t absent) const {
    return has(key) ? integer(key) : absent;
  }
  bool flag(const char* key) const { return has(key) && arg(key).as_bool(); }
  std::string text(const char* key) const { return arg(key).as_string(); }
  Shape ints(const char* key) const {
    Shape out;
    if (!has(key)) return out;
    for (const io::Value& v : arg(key)) out.push_back(v.as_int());
    return out;
  }
  std::vector<double> numbers(const char* key) const {
    std::vector<double> out;
    if (!has(key)) return out;
    for (const io::Value& v : arg(key)) out.push_back(v.as_double());
    return out;
  }
  std::array<int64_t, 2> pair(const char* key, int64_t absent) const {
    if (!has(key)) return {absent, absent};
    return {arg(key).at(int64_t{0}).as_int(), arg(key).at(int64_t{1}).as_int()};
  }

 private:
  io::Value arg(const char* key) const { return value_.at("args").at(key); }

  io::Value value_;
  Device device_;
};

using FunctionTable = std::map<std::string, std::vector<Tensor> (*)(const FunctionCase&)>;

/// Runs every case of the functions in `table`; there are at least `least`.
void run_cases(const FunctionTable& table, const Device& device, int least);

}  // namespace ferry::test

#endif  // FERRY_TESTS_OPS_FUNCTION_CASES_H
