// SPDX-License-Identifier: Apache-2.0
//
// A safetensors header from JSON events.
#include "io/safetensors_json.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace ferry::io {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";

}  // namespace

bool SafeJsonHandler::refuse(const std::string& reason) {
  if (error_.empty()) error_ = reason;
  return false;
}

bool SafeJsonHandler::unexpected(const char* what) {
  switch (place_) {
    case Place::kStart:
      return refuse(fmt::format("it is {}, not an object", what));
    case Place::kMetadata:
      return refuse(fmt::format("the metadata {} is {}, not a text", in_quotes(field_), what));
    default:
      return refuse(
          fmt::format("the entry {} has {} where it does not belong", in_quotes(key_), what));
  }
}

bool SafeJsonHandler::null() { return unexpected("null"); }
bool SafeJsonHandler::boolean(bool) { return unexpected("a bool"); }
bool SafeJsonHandler::number_float(number_float_t, const string_t&) {
  return unexpected("a number that is no integer, or too large");
}
bool SafeJsonHandler::binary(binary_t&) { return unexpected("binary data"); }
bool SafeJsonHandler::number_integer(number_integer_t) { return unexpected("a negative number"); }

bool SafeJsonHandler::number_unsigned(number_unsigned_t value) {
  if (place_ == Place::kShape) {
    if (value > INT64_MAX) return unexpected("a size beyond 64 bits");
    if (tensor_.shape.size() == FERRY_MAX_DIMS) {
      return refuse(fmt::format("the tensor {} has more than {} dimensions", in_quotes(key_),
                                FERRY_MAX_DIMS));
    }
    tensor_.shape.push_back(static_cast<int64_t>(value));
    return true;
  }
  if (place_ == Place::kOffsets && offsets_ < 2) {
    (offsets_++ == 0 ? tensor_.begin : tensor_.end) = value;
    return true;
  }
  return unexpected("a number");
}

bool SafeJsonHandler::string(string_t& value) {
  if (place_ == Place::kMetadata) {
    if (!header_.metadata.emplace(field_, value).second) {
      return refuse(fmt::format("the metadata {} comes twice", in_quotes(field_)));
    }
    return true;
  }
  if (place_ != Place::kTensor || field_ != "dtype" || has_dtype_) return unexpected("a text");
  const auto dtype = safe_dtype(value);
  if (!dtype) {
    return refuse(fmt::format("the tensor {} has the dtype {}, which Ferry does not have",
                              in_quotes(key_), in_quotes(value)));
  }
  tensor_.dtype = *dtype;
  has_dtype_ = true;
  return true;
}

bool SafeJsonHandler::start_object(size_t) {
  if (place_ == Place::kStart) {
    place_ = Place::kTop;
    return true;
  }
  if (place_ != Place::kTop) return unexpected("an object");
  if (key_ == kMetadataKey) {
    place_ = Place::kMetadata;
    return !std::exchange(has_metadata_, true) || refuse("the metadata come twice");
  }
  place_ = Place::kTensor;
  tensor_ = {};
  has_dtype_ = has_shape_ = false;
  offsets_ = 0;
  return names_.insert(key_).second ||
         refuse(fmt::format("the name {} comes twice", in_quotes(key_)));
}

bool SafeJsonHandler::key(string_t& value) {
  if (place_ == Place::kTop) {
    key_ = value;
    return true;
  }
  field_ = value;
  constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
  if (place_ == Place::kTensor &&
      std::find(std::begin(kFields), std::end(kFields), field_) == std::end(kFields)) {
    return refuse(fmt::format("the tensor {} has a field {}", in_quotes(key_), in_quotes(field_)));
  }
  return true;
}

bool SafeJsonHandler::end_object() {
  if (place_ == Place::kTensor) return end_tensor();
  place_ = place_ == Place::kMetadata ? Place::kTop : Place::kEnd;
  return true;
}

bool SafeJsonHandler::end_tensor() {
  if (!has_dtype_ || !has_shape_ || offsets_ != 2) {
    return refuse(fmt::format("the tensor {} lacks its dtype, shape or offsets", in_quotes(key_)));
  }
  tensor_.name = key_;
  header_.tensors.push_back(std::move(tensor_));
  place_ = Place::kTop;
  return true;
}

bool SafeJsonHandler::start_array(size_t) {
  if (place_ == Place::kTensor && field_ == "shape" && !std::exchange(has_shape_, true)) {
    place_ = Place::kShape;
    return true;
  }
  if (place_ == Place::kTensor && field_ == "data_offsets" && offsets_ == 0) {
    place_ = Place::kOffsets;
    return true;
  }
  return unexpected("a list");
}

bool SafeJsonHandler::end_array() {
  if (place_ == Place::kOffsets && offsets_ != 2) return unexpected("offsets that are not two");
  place_ = Place::kTensor;
  return true;
}

bool SafeJsonHandler::parse_error(size_t position, const std::string&,
                                  const nlohmann::json::exception&) {
  return refuse(fmt::format("it is no JSON at byte {}", position));
}

}  // namespace ferry::io
