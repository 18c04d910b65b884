// SPDX-License-Identifier: Apache-2.0
//
// A file of torch.save(): first everything is checked, then the storages are
// read one by one while the objects of the pickle become Values.
#include "io/torch_reader.h"

#include <string>
#include <vector>

#include "io/storage_loader.h"
#include "io/tag_places.h"
#include "io/torch_file.h"
#include "io/tree_builder.h"
#include "runtime/device_state.h"

namespace ferry::io {

TorchFile parse_torch_file(const MappedFile& file) {
  if (looks_like_legacy(file)) return parse_torch_legacy(file);
  if (looks_like_tar(file)) return parse_torch_tar(file);
  return parse_torch_zip(file);
}

Value read_torch_file(const std::shared_ptr<const MappedFile>& file, const ReadOptions& options) {
  const TorchFile torch = parse_torch_file(*file);
  std::vector<std::string> tags;
  uint64_t total = 0;
  for (const TorchStorage& storage : torch.table->storages()) {
    if (storage.untyped && torch.big_endian) {
      file->fail("is big-endian and has storages without a dtype, which cannot be turned");
    }
    tags.push_back(storage.tag);
    total += storage.bytes;
  }
  const TagPlaces places(tags, options.map, file->path());
  StorageLoader loader(file, options, total);
  const auto read = [&](const TorchStorage& storage) {
    const size_t swap = torch.big_endian ? item_size(storage.dtype) : 1;
    auto& device = runtime::DeviceState::get(places.at(storage.tag));
    if (storage.record != nullptr) {
      return loader.load(device, *torch.archive, *storage.record, item_size(storage.dtype), swap);
    }
    return loader.load(device, stored_bytes(torch, storage), item_size(storage.dtype), swap);
  };
  return TreeBuilder(torch, read).build();
}

}  // namespace ferry::io
