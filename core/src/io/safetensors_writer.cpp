// SPDX-License-Identifier: Apache-2.0
//
// save_safetensors(): header first, then the tensors, each once.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ferry/error.h"
#include "ferry/io/save.h"
#include "io/atomic_file.h"
#include "io/safetensors_header.h"
#include "io/text.h"
#include "runtime/copy.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

using Json = nlohmann::json;

constexpr const char* kWhere = "save_safetensors";
constexpr const char* kMetadataKey = "__metadata__";
// The format's own reader refuses more.
constexpr size_t kMostHeaderBytes = 100000000;
// The data, and so every tensor in it, begin at a multiple of this.
constexpr size_t kAlignment = 8;
constexpr uint64_t kPartBytes = uint64_t{8} << 20;

struct Entry {
  const std::string* name;
  Tensor tensor;
  uint64_t begin = 0;
};

struct Plan {
  std::vector<Entry> entries;  ///< in the dict's order
  std::map<std::string, std::string> metadata;
};

/// Equal for views that are the same elements of the same storage.
using ViewKey = std::tuple<const detail::Storage*, DType, int64_t, Shape, Shape>;

ViewKey key_of(const Tensor& tensor) {
  return {tensor.impl()->storage, tensor.dtype(), tensor.storage_offset(), tensor.shape(),
          tensor.strides()};
}

Plan plan_of(const StateDict& state, const std::map<std::string, std::string>& metadata) {
  Plan plan;
  plan.metadata = metadata;
  for (const auto& [key, value] : metadata) {
    if (key.starts_with(io::kAliasPrefix)) {
      throw InvalidArgument(kWhere, fmt::format("metadata may not begin with '{}', as {} does",
                                                io::kAliasPrefix, io::in_quotes(key)));
    }
  }
  std::map<ViewKey, const std::string*> seen;
  for (const auto& [name, tensor] : state) {
    if (!tensor.defined()) {
      throw InvalidArgument(kWhere, fmt::format("the tensor {} is undefined", io::in_quotes(name)));
    }
    if (name == kMetadataKey) {
      throw InvalidArgument(kWhere, fmt::format("no tensor can have the name '{}'", name));
    }
    const auto [known, fresh] = seen.emplace(key_of(tensor), &name);
    if (fresh)
      plan.entries.push_back({&name, tensor});
    else
      plan.metadata.emplace(std::string(io::kAliasPrefix) + name, *known->second);
  }
  return plan;
}

/// Where each goes. The widest dtypes come first, so that all are aligned
/// though the format allows no gaps.
std::vector<const Entry*> place(Plan& plan) {
  std::vector<Entry*> order;
  for (Entry& entry : plan.entries) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return item_size(a->tensor.dtype()) > item_size(b->tensor.dtype());
  });
  uint64_t next = 0;
  for (Entry* entry : order) {
    entry->begin = next;
    if (__builtin_add_overflow(next, entry->tensor.nbytes(), &next)) {
      throw InvalidArgument(kWhere, "the tensors have more bytes than 64 bits can count");
    }
  }
  return {order.begin(), order.end()};
}

/// Length and JSON text. Joined by hand of parts that the JSON library writes: a
/// tree of it would not keep the order, or find a name slowly.
std::string header_of(const Plan& plan) try {
  std::string text(io::kLengthBytes, '\0');
  text += '{';
  if (!plan.metadata.empty()) {
    text += fmt::format("\"{}\":{},", kMetadataKey, Json(plan.metadata).dump());
  }
  for (const Entry& entry : plan.entries) {
    const Tensor& tensor = entry.tensor;
    text += fmt::format(R"({}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}},)",
                        Json(*entry.name).dump(), io::safe_name(tensor.dtype()),
                        Json(tensor.shape()).dump(), entry.begin, entry.begin + tensor.nbytes());
  }
  if (text.back() == ',') text.pop_back();
  text += '}';
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const uint64_t length = text.size() - io::kLengthBytes;
  if (length > kMostHeaderBytes) {
    throw InvalidArgument(kWhere, fmt::format("the header would have {} bytes, and readers refuse "
                                              "more than {}; use shorter names or several files",
                                              length, kMostHeaderBytes));
  }
  std::memcpy(text.data(), &length, sizeof length);
  return text;
} catch (const Json::exception& e) {
  throw InvalidArgument(kWhere, fmt::format("a name or text is no UTF-8: {}", e.what()));
}

void write_tensor(io::AtomicFile& file, const Tensor& tensor) {
  if (tensor.numel() == 0) return;
  const Tensor dense = tensor.contiguous();
  const detail::TensorImpl& impl = *dense.impl();
  const uint64_t begin = static_cast<uint64_t>(impl.offset) * item_size(impl.dtype);
  const uint64_t bytes = dense.nbytes();
  if (const void* data = impl.storage->host; data != nullptr) {
    file.write(dense.data_ptr(), bytes);
    return;
  }
  const auto part = std::make_unique_for_overwrite<std::byte[]>(std::min(kPartBytes, bytes));
  for (uint64_t done = 0; done < bytes; done += kPartBytes) {
    const uint64_t count = std::min(kPartBytes, bytes - done);
    runtime::copy_to_host(part.get(), {impl.storage, begin + done}, count);
    file.write(part.get(), count);
  }
}

}  // namespace

void save_safetensors(const StateDict& state, const std::string& path,
                      const std::map<std::string, std::string>& metadata) {
  Plan plan = plan_of(state, metadata);
  const std::vector<const Entry*> order = place(plan);
  const std::string header = header_of(plan);
  io::AtomicFile file(path);
  file.write(header.data(), header.size());
  for (const Entry* entry : order) write_tensor(file, entry->tensor);
  file.commit();
}

}  // namespace ferry
