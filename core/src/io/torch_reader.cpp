// SPDX-License-Identifier: Apache-2.0
//
// A file of torch.save(): first everything is checked, then the storages are
// read one by one, then the objects of the pickle become Values.
#include "io/torch_reader.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "io/storage_handle.h"
#include "io/tag_places.h"
#include "io/torch_objects.h"
#include "io/zip_archive.h"
#include "runtime/copy.h"
#include "runtime/device_state.h"
#include "tensor/tensor_impl.h"

namespace ferry::io {
namespace {

constexpr const char* kWhere = "load";
constexpr std::string_view kPickleName = "data.pkl";
constexpr uint64_t kMostPickleBytes = uint64_t{1} << 30;
// Python itself cannot write deeper ones.
constexpr int kMostDepth = 200;

/// The folder, with its slash, that all of PyTorch's records are in.
std::string find_prefix(const MappedFile& file, const ZipArchive& archive) {
  for (const ZipRecord& record : archive.records()) {
    const size_t slash = record.name.find('/');
    if (slash == std::string::npos || record.name.substr(slash + 1) != kPickleName) continue;
    std::string prefix = record.name.substr(0, slash + 1);
    if (archive.find(prefix + "constants.pkl") != nullptr) {
      file.fail(
          "is a TorchScript archive, which holds code beside its weights. Save the weights alone "
          "in Python: torch.save(torch.jit.load(path).state_dict(), new_path)");
    }
    return prefix;
  }
  file.fail(fmt::format(
      "is a zip archive, but none of torch.save(): there is no data.pkl among its {} records{}",
      archive.records().size(),
      archive.records().empty()
          ? ""
          : ", the first of which is " + in_quotes(archive.records().front().name)));
}

/// Whether the file's numbers are big-endian.
bool is_big_endian(const MappedFile& file, const ZipArchive& archive, const std::string& prefix) {
  const ZipRecord* record = archive.find(prefix + "byteorder");
  if (record == nullptr) return false;  // older files have none and are little-endian
  constexpr uint64_t kMostBytes = 64;
  if (record->size > kMostBytes) file.fail("its record byteorder is damaged");
  const std::vector<std::byte> contents = archive.read(*record);
  const std::string_view word(reinterpret_cast<const char*>(contents.data()), contents.size());
  if (word != "little" && word != "big") {
    file.fail(
        fmt::format("its record byteorder says {}, neither 'little' nor 'big'", in_quotes(word)));
  }
  return word == "big";
}

/// Makes the Values, and each storage when its first tensor needs it.
class TreeBuilder {
 public:
  TreeBuilder(const MappedFile& file, const ZipArchive& archive, const PickleReader& pickle,
              const TorchObjects& torch, const TagPlaces& places, bool swap_bytes)
      : file_(file),
        archive_(archive),
        objects_(pickle.objects()),
        torch_(torch),
        places_(places),
        swap_bytes_(swap_bytes),
        made_(objects_.size()),
        state_(objects_.size(), State::kNew),
        storages_(torch.storages().size()) {}

  Value build(Ref ref, int depth = 0) {
    if (state_[ref] == State::kDone) return made_[ref];
    if (state_[ref] == State::kBegun) file_.fail("data.pkl: an object in it contains itself");
    if (depth > kMostDepth) {
      file_.fail(fmt::format("data.pkl: it is nested deeper than {} levels", kMostDepth));
    }
    state_[ref] = State::kBegun;
    made_[ref] = make(objects_[ref], depth);
    state_[ref] = State::kDone;
    return made_[ref];
  }

 private:
  enum class State : uint8_t { kNew, kBegun, kDone };

  Value make(const PickleObject& object, int depth) {
    if (const auto* value = std::get_if<bool>(&object)) return Value::of(*value);
    if (const auto* value = std::get_if<int64_t>(&object)) return Value::of(*value);
    if (const auto* value = std::get_if<double>(&object)) return Value::of(*value);
    if (const auto* value = std::get_if<std::string>(&object)) return Value::of(*value);
    if (const auto* list = std::get_if<PickleList>(&object)) {
      return Value::list(build_all(list->items, depth));
    }
    if (const auto* tuple = std::get_if<PickleTuple>(&object)) {
      return Value::tuple(build_all(tuple->items, depth));
    }
    if (const auto* dict = std::get_if<PickleDict>(&object)) return build_dict(*dict, depth);
    if (const auto* name = std::get_if<PickleGlobal>(&object)) {
      return Value::of(torch_.name_of(*name));
    }
    if (const auto* storage = std::get_if<PickleStorage>(&object)) {
      return Value::of(whole_storage(storage->index));
    }
    if (const auto* tensor = std::get_if<PickleTensor>(&object)) {
      const TorchTensor& t = torch_.tensors()[tensor->index];
      return Value::of(ferry::detail::make_view(storage(t.storage), t.dtype, t.shape, t.strides,
                                                t.offset, kWhere));
    }
    return Value();
  }

  std::vector<Value> build_all(const std::vector<Ref>& refs, int depth) {
    std::vector<Value> values;
    values.reserve(refs.size());
    for (const Ref ref : refs) values.push_back(build(ref, depth + 1));
    return values;
  }

  Value build_dict(const PickleDict& dict, int depth) {
    std::vector<Value::Item> items;
    items.reserve(dict.items.size());
    for (const auto& [key_ref, value_ref] : dict.items) {
      const PickleObject& key = objects_[key_ref];
      if (!std::holds_alternative<std::string>(key) && !std::holds_alternative<int64_t>(key)) {
        file_.fail(fmt::format("data.pkl: a dict in it has {} as a key; strings and ints can be",
                               words_for(key)));
      }
      items.push_back({build(key_ref, depth + 1), build(value_ref, depth + 1)});
    }
    return Value::dict(std::move(items));
  }

  Tensor whole_storage(uint32_t index) {
    const TorchStorage& from = torch_.storages()[index];
    const auto count = static_cast<int64_t>(from.bytes / item_size(from.dtype));
    const int64_t stride = 1;
    return ferry::detail::make_view(storage(index), from.dtype, {&count, 1}, {&stride, 1}, 0,
                                    kWhere);
  }

  ferry::detail::Storage* storage(uint32_t index) {
    StorageHandle& handle = storages_[index];
    if (handle.get() == nullptr) handle = read_storage(torch_.storages()[index]);
    return handle.get();
  }

  StorageHandle read_storage(const TorchStorage& from) {
    auto& device = runtime::DeviceState::get(places_.at(from.tag));
    StorageHandle handle(ferry::detail::new_storage(device, from.bytes));
    uint64_t done = 0;
    archive_.read(*from.record, [&](Bytes part) {
      const std::byte* source = part.data();
      if (swap_bytes_ && item_size(from.dtype) > 1) {
        source = swapped(part, item_size(from.dtype));
      }
      runtime::copy_from_host({handle.get(), done}, source, part.size());
      done += part.size();
    });
    return handle;
  }

  /// Parts are whole numbers of items.
  const std::byte* swapped(Bytes part, size_t item) {
    swap_buffer_.assign(part.begin(), part.end());
    for (size_t i = 0; i + item <= swap_buffer_.size(); i += item) {
      std::reverse(swap_buffer_.data() + i, swap_buffer_.data() + i + item);
    }
    return swap_buffer_.data();
  }

  const MappedFile& file_;
  const ZipArchive& archive_;
  const PickleObjects& objects_;
  const TorchObjects& torch_;
  const TagPlaces& places_;
  const bool swap_bytes_;
  std::vector<Value> made_;
  std::vector<State> state_;
  std::vector<StorageHandle> storages_;
  std::vector<std::byte> swap_buffer_;
};

}  // namespace

Value read_torch_file(const MappedFile& file, const MapLocation& map) {
  const ZipArchive archive(file);
  const std::string prefix = find_prefix(file, archive);
  const bool big_endian = is_big_endian(file, archive, prefix);
  const ZipRecord& record = *archive.find(prefix + std::string(kPickleName));
  if (record.size > kMostPickleBytes) {
    file.fail(fmt::format("its data.pkl has {} bytes, at most {} are read", record.size,
                          kMostPickleBytes));
  }
  const std::vector<std::byte> pickle = archive.read(record);
  TorchObjects torch(archive, prefix);
  PickleReader reader(pickle, torch);
  Ref root = 0;
  try {
    root = reader.run();
  } catch (const PickleError& e) {
    file.fail(e.what());
  }
  std::vector<std::string> tags;
  for (const TorchStorage& storage : torch.storages()) {
    if (storage.untyped && big_endian) {
      file.fail("is big-endian and has storages without a dtype, which cannot be turned");
    }
    tags.push_back(storage.tag);
  }
  const TagPlaces places(tags, map, file.path());
  return TreeBuilder(file, archive, reader, torch, places, big_endian).build(root);
}

}  // namespace ferry::io
