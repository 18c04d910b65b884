// SPDX-License-Identifier: Apache-2.0
//
// A safetensors file as a dict of tensors, aliases joined again.
#include "io/safetensors_reader.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "io/safetensors_header.h"
#include "io/storage_loader.h"
#include "io/tag_places.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry::io {
namespace {

constexpr const char* kTag = "cpu";

struct Alias {
  std::string name;
  size_t target;  ///< place among the tensors
};

std::vector<Alias> find_aliases(const MappedFile& file, const SafeHeader& header) {
  std::vector<Alias> aliases;
  std::unordered_map<std::string_view, size_t> names;
  for (size_t i = 0; i < header.tensors.size(); ++i) names.emplace(header.tensors[i].name, i);
  for (const auto& [key, value] : header.metadata) {
    if (!key.starts_with(kAliasPrefix)) continue;
    const std::string name = key.substr(kAliasPrefix.size());
    const auto target = names.find(value);
    if (target == names.end() || names.find(name) != names.end()) {
      file.fail(fmt::format("its metadata say that {} is the same as {}, but {}", in_quotes(name),
                            in_quotes(value),
                            target == names.end() ? "there is no tensor of that name"
                                                  : "it has a tensor of its own"));
    }
    aliases.push_back({name, target->second});
  }
  return aliases;
}

}  // namespace

Value read_safetensors_file(const std::shared_ptr<const MappedFile>& file,
                            const ReadOptions& options) {
  const SafeHeader header = read_safe_header(*file);
  const std::vector<Alias> aliases = find_aliases(*file, header);
  std::vector<Value::Item> items;
  items.reserve(header.tensors.size() + aliases.size());
  if (!header.tensors.empty()) {
    const TagPlaces places({kTag}, options.map, file->path());
    runtime::DeviceState& device = runtime::DeviceState::get(places.at(kTag));
    StorageLoader loader(file, options, header.data.size());
    for (const SafeTensor& from : header.tensors) {
      const StorageHandle storage = loader.load(
          device, header.data.subspan(from.begin, from.end - from.begin), item_size(from.dtype));
      const auto strides = ferry::detail::contiguous_strides(from.shape);
      items.push_back({Value::of(from.name), Value::of(ferry::detail::make_view(
                                                 storage.get(), from.dtype, from.shape,
                                                 {strides.data(), from.shape.size()}, 0, "load"))});
    }
  }
  for (const Alias& alias : aliases) {
    items.push_back({Value::of(alias.name), items[alias.target].value});
  }
  return Value::dict(std::move(items));
}

}  // namespace ferry::io
