// SPDX-License-Identifier: Apache-2.0
//
// The opcodes of a pickle, written.
#include "io/pickle_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "ferry/error.h"
#include "io/text.h"
#include "io/torch_names.h"
#include "tensor/tensor_impl.h"

namespace ferry::io {

static_assert(std::endian::native == std::endian::little, "numbers in files are little-endian");

namespace {

constexpr const char* kWhere = "save_torch";
// As many as the reader takes.
constexpr size_t kMostDepth = 200;

}  // namespace

template <class T>
void PickleWriter::raw(T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out_.append(bytes, sizeof value);
}

void PickleWriter::refuse(const std::string& reason) const {
  std::string place;
  for (const std::string& key : path_) place += "[" + key + "]";
  throw InvalidArgument(kWhere, fmt::format("{}: {}", place.empty() ? "the value" : place, reason));
}

uint32_t PickleWriter::remember() {
  if (slots_ <= 0xff) {
    out_ += 'q';
    raw(static_cast<uint8_t>(slots_));
  } else {
    out_ += 'r';
    raw(slots_);
  }
  return slots_++;
}

void PickleWriter::recall(uint32_t slot) {
  if (slot <= 0xff) {
    out_ += 'h';
    raw(static_cast<uint8_t>(slot));
  } else {
    out_ += 'j';
    raw(slot);
  }
}

void PickleWriter::put_int(int64_t value) {
  if (value >= 0 && value <= 0xff) {
    out_ += 'K';
    raw(static_cast<uint8_t>(value));
  } else if (value >= 0 && value <= 0xffff) {
    out_ += 'M';
    raw(static_cast<uint16_t>(value));
  } else if (value >= std::numeric_limits<int32_t>::min() &&
             value <= std::numeric_limits<int32_t>::max()) {
    out_ += 'J';
    raw(static_cast<int32_t>(value));
  } else {
    out_ += "\x8a\x08";
    raw(value);
  }
}

void PickleWriter::put_float(double value) {
  out_ += 'G';
  auto bits = std::bit_cast<uint64_t>(value);
  auto* bytes = reinterpret_cast<unsigned char*>(&bits);
  std::reverse(bytes, bytes + sizeof bits);  // the one number that is big-endian
  raw(bits);
}

void PickleWriter::put_text(std::string_view text) {
  if (!is_utf8(text)) refuse(fmt::format("the text {} is no UTF-8", in_quotes(text)));
  if (text.size() > std::numeric_limits<uint32_t>::max()) {
    refuse(fmt::format("a text of {} bytes is too long for the format", text.size()));
  }
  out_ += 'X';
  raw(static_cast<uint32_t>(text.size()));
  out_ += text;
}

void PickleWriter::put_word(std::string_view text) {
  if (const auto known = words_.find(text); known != words_.end()) return recall(known->second);
  put_text(text);
  words_.emplace(text, remember());
}

void PickleWriter::put_global(std::string_view name) {
  if (const auto known = globals_.find(name); known != globals_.end()) return recall(known->second);
  const size_t dot = name.rfind('.');
  out_ += fmt::format("c{}\n{}\n", name.substr(0, dot), name.substr(dot + 1));
  globals_.emplace(name, remember());
}

void PickleWriter::put_sizes(ShapeRef sizes) {
  if (sizes.empty()) {
    out_ += ')';
    return;
  }
  constexpr size_t kMostWithOpcode = 3;
  if (sizes.size() > kMostWithOpcode) out_ += '(';
  for (const int64_t size : sizes) put_int(size);
  out_ += sizes.size() > kMostWithOpcode ? 't' : static_cast<char>(0x84 + sizes.size());
}

void PickleWriter::put_tensor(const Tensor& tensor) {
  if (!tensor.defined()) refuse("the tensor is undefined");
  if (const auto known = tensors_.find(tensor.impl()); known != tensors_.end()) {
    return recall(known->second);
  }
  const StorageName storage = storages_.name_of(tensor);
  put_global("torch._utils._rebuild_tensor_v2");
  out_ += "((";
  put_word("storage");
  put_global(fmt::format("torch.{}", storage_class(tensor.dtype())));
  put_text(storage.key);
  put_word(storage.location);
  put_int(storage.count);
  out_ += "tQ";
  put_int(storage.offset);
  put_sizes(tensor.impl()->shape());
  put_sizes(tensor.impl()->strides());
  out_ += '\x89';  // requires_grad
  put_global("collections.OrderedDict");
  out_ += ")RtR";  // without hooks
  tensors_.emplace(tensor.impl(), remember());
}

void PickleWriter::put_items(const Value& dict) {
  out_ += '}';
  if (dict.size() == 0) return;
  out_ += '(';
  for (const auto& [key, value] : dict.items()) {
    path_.push_back(key.str());
    put(key);
    put(value);
    path_.pop_back();
  }
  out_ += 'u';
}

void PickleWriter::put_elements(const Value& sequence) {
  const bool tuple = sequence.is_tuple();
  if (sequence.size() == 0) {
    out_ += tuple ? ')' : ']';
    return;
  }
  out_ += tuple ? "(" : "](";
  size_t index = 0;
  for (const Value& value : sequence) {
    path_.push_back(std::to_string(index++));
    put(value);
    path_.pop_back();
  }
  out_ += tuple ? 't' : 'e';
}

void PickleWriter::put(const Value& value) {
  if (path_.size() > kMostDepth) {
    path_.resize(1);
    refuse(fmt::format("it is nested deeper than {} levels", kMostDepth));
  }
  switch (value.kind()) {
    case Value::Kind::kNone:
      out_ += 'N';
      return;
    case Value::Kind::kBool:
      out_ += value.as_bool() ? '\x88' : '\x89';
      return;
    case Value::Kind::kInt:
      return put_int(value.as_int());
    case Value::Kind::kFloat:
      return put_float(value.as_double());
    case Value::Kind::kString:
      return put_text(value.as_string());
    case Value::Kind::kTensor:
      return put_tensor(value.as_tensor());
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return put_elements(value);
    case Value::Kind::kDict:
      return put_items(value);
  }
}

std::string PickleWriter::write(const Value& value) {
  out_ = "\x80\x02";
  put(value);
  return std::move(out_ += '.');
}

}  // namespace ferry::io
