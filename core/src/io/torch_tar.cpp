// SPDX-License-Identifier: Apache-2.0
//
// The tar form of torch.save() before PyTorch 0.2: the members storages and
// tensors, which number what the member pickle names.
#include <cstring>
#include <map>
#include <string>

#include <fmt/format.h>

#include "io/tar_archive.h"
#include "io/torch_file.h"

namespace ferry::io {
namespace {

/// Storages and tensors by their numbers.
class TarSource : public TorchSource {
 public:
  void locate(TorchStorage&) override {}  // it was read before
  PickleObject numbered(int64_t number) const override {
    if (const auto found = objects_.find(number); found != objects_.end()) return found->second;
    throw PickleError(fmt::format("it names the object {}, which is not there", number));
  }
  void add(int64_t number, const PickleObject& object) {
    if (!objects_.emplace(number, object).second) {
      throw PickleError(fmt::format("the object {} comes twice", number));
    }
  }

 private:
  std::map<int64_t, PickleObject> objects_;
};

/// Takes pickles and numbers of one member in turn. Throws PickleError.
class Member {
 public:
  Member(const MappedFile& file, Bytes bytes, TorchObjects& table, const char* name)
      : file_(file), bytes_(bytes), table_(table), name_(name) {}

  Ref pickle() {
    PickleReader reader(bytes_.subspan(at_), table_, name_);
    const Ref root = reader.run();
    at_ += reader.size();
    objects_ = reader.take_objects();
    return root;
  }
  const PickleObjects& objects() const noexcept { return objects_; }

  template <class T>
  const T& as(Ref ref) const {
    if (const T* value = std::get_if<T>(&objects_[ref])) return *value;
    throw PickleError(
        fmt::format("{}: it has {} in a wrong place", name_, words_for(objects_[ref])));
  }
  /// The members of a tuple or list of `count`.
  const std::vector<Ref>& entries(Ref ref, size_t count) const {
    const std::vector<Ref>* items = nullptr;
    if (const auto* tuple = std::get_if<PickleTuple>(&objects_[ref])) items = &tuple->items;
    if (const auto* list = std::get_if<PickleList>(&objects_[ref])) items = &list->items;
    if (items == nullptr || items->size() != count) {
      throw PickleError(fmt::format("{}: it has something else than {} values", name_, count));
    }
    return *items;
  }

  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  Bytes take(uint64_t count) {
    if (count > bytes_.size() - at_) throw PickleError(fmt::format("{}: it ends too early", name_));
    const Bytes part = bytes_.subspan(at_, count);
    at_ += count;
    return part;
  }
  uint64_t place(Bytes part) const {
    return static_cast<uint64_t>(part.data() - file_.bytes().data());
  }

 private:
  const MappedFile& file_;
  Bytes bytes_;
  TorchObjects& table_;
  const char* name_;
  size_t at_ = 0;
  PickleObjects objects_;
};

void read_storages(Member& member, TorchObjects& table, TarSource& source) {
  const int64_t count = member.as<int64_t>(member.pickle());
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<Ref> entry = member.entries(member.pickle(), 3);
    const auto number = member.as<int64_t>(entry[0]);
    const TorchName& type = table.storage_class(member.objects()[entry[2]]);
    TorchStorage storage;
    storage.key = std::to_string(number);
    storage.tag = member.as<std::string>(entry[1]);
    storage.dtype = type.dtype.value_or(kU8);
    storage.untyped = !type.dtype;
    const auto elements = member.number<int64_t>();
    int64_t bytes = 0;
    if (elements < 0 ||
        __builtin_mul_overflow(elements, static_cast<int64_t>(item_size(storage.dtype)), &bytes)) {
      throw PickleError(fmt::format("storages: storage {} has {} elements", number, elements));
    }
    storage.bytes = static_cast<uint64_t>(bytes);
    storage.begin = member.place(member.take(storage.bytes));
    const uint32_t index = table.add_storage(std::move(storage));
    source.add(number, PickleStorage{index, 0, elements});
  }
  const PickleList views = member.as<PickleList>(member.pickle());
  for (const Ref ref : views.items) {
    const std::vector<Ref>& view = member.entries(ref, 4);
    const PickleObject object = source.numbered(member.as<int64_t>(view[1]));
    auto part = std::get<PickleStorage>(object);
    const auto offset = member.as<int64_t>(view[2]), size = member.as<int64_t>(view[3]);
    if (offset < 0 || size < 0 || offset > part.count || size > part.count - offset) {
      throw PickleError("storages: a part of a storage is outside of it");
    }
    source.add(member.as<int64_t>(view[0]), PickleStorage{part.index, part.offset + offset, size});
  }
}

void read_tensors(Member& member, TorchObjects& table, TarSource& source) {
  const int64_t count = member.as<int64_t>(member.pickle());
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<Ref> entry = member.entries(member.pickle(), 3);
    const PickleObject object = source.numbered(member.as<int64_t>(entry[1]));
    const auto* part = std::get_if<PickleStorage>(&object);
    if (part == nullptr) throw PickleError("tensors: a tensor is named as a storage");
    const auto dims = member.number<int32_t>();
    (void)member.number<int32_t>();  // once the upper half of it
    if (dims < 0 || dims > FERRY_MAX_DIMS) {
      throw PickleError(fmt::format("tensors: a tensor has {} dimensions", dims));
    }
    TorchTensor tensor;
    tensor.storage = part->index;
    tensor.dtype = table.storages()[part->index].dtype;
    for (int32_t d = 0; d < dims; ++d) tensor.shape.push_back(member.number<int64_t>());
    for (int32_t d = 0; d < dims; ++d) tensor.strides.push_back(member.number<int64_t>());
    for (int32_t d = 0; d < dims; ++d) {
      if (tensor.shape[d] < 0 || tensor.strides[d] < 0) {
        throw PickleError("tensors: a tensor has a negative size or stride");
      }
    }
    if (__builtin_add_overflow(member.number<int64_t>(), part->offset, &tensor.offset)) {
      throw PickleError("tensors: a tensor has an offset beyond 64 bits");
    }
    source.add(member.as<int64_t>(entry[0]), PickleTensor{table.add_tensor(std::move(tensor))});
  }
}

}  // namespace

bool looks_like_tar(const MappedFile& file) noexcept {
  constexpr uint64_t kMagicAt = 257;
  constexpr std::string_view kMagic = "ustar";
  return file.contains(kMagicAt, kMagic.size()) &&
         std::memcmp(file.bytes().data() + kMagicAt, kMagic.data(), kMagic.size()) == 0;
}

TorchFile parse_torch_tar(const MappedFile& file) {
  TorchFile torch;
  torch.file = &file;
  torch.form = "PyTorch tar";
  torch.pickle_name = "its member 'pickle'";
  const std::map<std::string, Bytes> members = read_tar(file);
  for (const char* name : {"storages", "tensors", "pickle"}) {
    if (members.count(name) == 0) {
      file.fail(fmt::format(
          "is a tar archive, but none of PyTorch: there is no member '{}'. If the checkpoint is "
          "inside of it, unpack it first",
          name));
    }
  }
  auto source = std::make_unique<TarSource>();
  torch.table = std::make_unique<TorchObjects>(*source);
  TorchObjects& table = *torch.table;
  try {
    Member storages(file, members.at("storages"), table, "storages");
    read_storages(storages, table, *source);
    Member tensors(file, members.at("tensors"), table, "tensors");
    read_tensors(tensors, table, *source);
    PickleReader reader(members.at("pickle"), table, "pickle");
    torch.root = reader.run();
    torch.objects = reader.take_objects();
  } catch (const PickleError& e) {
    file.fail(e.what());
  }
  torch.source = std::move(source);
  return torch;
}

}  // namespace ferry::io
