// SPDX-License-Identifier: Apache-2.0
//
// SafeJsonHandler: takes the JSON text of a safetensors header, event by event,
// so that a header with a million names needs no tree and no duplicate is lost.
#ifndef FERRY_IO_SAFETENSORS_JSON_H
#define FERRY_IO_SAFETENSORS_JSON_H

#include <string>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "io/safetensors_header.h"

namespace ferry::io {

/// The events of nlohmann::json::sax_parse. Each returns false, with the reason
/// in error(), where the header is none.
class SafeJsonHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit SafeJsonHandler(SafeHeader& header) : header_(header) {}

  const std::string& error() const noexcept { return error_; }

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(number_integer_t value) override;
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t value, const string_t& text) override;
  bool string(string_t& value) override;
  bool binary(binary_t& value) override;
  bool start_object(size_t size) override;
  bool key(string_t& value) override;
  bool end_object() override;
  bool start_array(size_t size) override;
  bool end_array() override;
  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::json::exception& exception) override;

 private:
  enum class Place { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kEnd };

  bool refuse(const std::string& reason);
  bool unexpected(const char* what);
  bool end_tensor();

  SafeHeader& header_;
  std::string error_;
  Place place_ = Place::kStart;
  std::unordered_set<std::string> names_;
  std::string key_;    ///< of the entry at hand
  std::string field_;  ///< in a tensor's entry
  SafeTensor tensor_;
  bool has_dtype_ = false, has_shape_ = false, has_metadata_ = false;
  int offsets_ = 0;
};

}  // namespace ferry::io

#endif  // FERRY_IO_SAFETENSORS_JSON_H
