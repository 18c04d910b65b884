// SPDX-License-Identifier: Apache-2.0
//
// The form of torch.save() before PyTorch 1.6: pickles one after the other, then
// the storages, each behind its number of elements.
#include <cstring>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include "io/torch_file.h"

namespace ferry::io {
namespace {

using namespace std::string_view_literals;  // NOLINT(google-build-using-namespace)

// The pickled number 0x1950a86a20f9469cfc6c, and what ends its pickle.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv;
constexpr size_t kProtocolBytes = 2;
constexpr size_t kFrameBytes = 9;  // of protocol 4 and later
constexpr int64_t kVersion = 1001;

/// Where the first pickle ends; 0 where the file begins otherwise.
size_t end_of_magic(const MappedFile& file) noexcept {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.size());
  if (!text.starts_with("\x80"sv)) return 0;
  for (const size_t before : {kProtocolBytes, kProtocolBytes + kFrameBytes}) {
    if (text.size() > before && text.substr(before).starts_with(kMagic)) {
      return before + kMagic.size();
    }
  }
  return 0;
}

/// For pickles of plain values.
class PlainHost : public PickleHost {
 public:
  PickleObject import_global(std::string_view, std::string_view) override { refuse(); }
  PickleObject call(const PickleObjects&, PickleGlobal, const PickleTuple&) override { refuse(); }
  PickleObject persistent(const PickleObjects&, const PickleObject&) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { throw PickleError("it has more than numbers and texts"); }
};

class LegacySource : public TorchSource {
 public:
  void locate(TorchStorage&) override {}  // the file says it after the pickle
};

/// Takes the parts of the file in turn.
class LegacyReader {
 public:
  explicit LegacyReader(const MappedFile& file) : file_(file), at_(end_of_magic(file)) {}

  /// The objects of the next pickle; its root is the result.
  Ref pickle(PickleHost& host, const char* name, PickleObjects& objects) {
    PickleReader reader(file_.bytes().subspan(at_), host, name);
    Ref root = 0;
    try {
      root = reader.run();
    } catch (const PickleError& e) {
      file_.fail(std::string(e.what()) + cut());
    }
    at_ += reader.size();
    objects = reader.take_objects();
    return root;
  }

  int64_t number() {
    int64_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  Bytes take(uint64_t count) {
    if (!file_.contains(at_, count)) {
      file_.fail("ends within the contents of a tensor; download incomplete?");
    }
    const Bytes part = file_.bytes().subspan(at_, count);
    at_ += count;
    return part;
  }

  uint64_t at() const noexcept { return at_; }

 private:
  /// Almost always, a pickle without an end is a file without one.
  const char* cut() const { return "; the file is damaged, or its download incomplete?"; }

  const MappedFile& file_;
  uint64_t at_;
};

void check_system(const MappedFile& file, const PickleObjects& objects, Ref root) {
  const auto* system = std::get_if<PickleDict>(&objects[root]);
  if (system == nullptr) file.fail("its second pickle is not what PyTorch writes there");
  for (const auto& [key, value] : system->items) {
    const auto* name = std::get_if<std::string>(&objects[key]);
    const bool* flag = std::get_if<bool>(&objects[value]);
    if (name != nullptr && *name == "little_endian" && flag != nullptr && !*flag) {
      file.fail(
          "was written on a big-endian machine, in a form that does not say in which order its "
          "numbers are. Load it there and save it again with PyTorch 2.1 or newer, which says so");
    }
  }
}

/// Finds the contents of each storage that the pickle named.
void place_storages(LegacyReader& reader, const MappedFile& file, TorchObjects& table,
                    const PickleObjects& objects, Ref root) {
  const auto* keys = std::get_if<PickleList>(&objects[root]);
  if (keys == nullptr) file.fail("its list of storages is none");
  std::unordered_set<std::string> placed;
  for (const Ref ref : keys->items) {
    const auto* key = std::get_if<std::string>(&objects[ref]);
    if (key == nullptr)
      file.fail("its list of storages holds " + std::string(words_for(objects[ref])));
    TorchStorage* storage = table.find(*key);
    if (storage == nullptr || !placed.insert(*key).second) {
      file.fail(fmt::format("it lists storage {} {}", in_quotes(*key),
                            storage == nullptr ? "but has no tensor in it" : "twice"));
    }
    const int64_t count = reader.number();
    if (count != static_cast<int64_t>(storage->bytes / item_size(storage->dtype))) {
      file.fail(fmt::format("storage {} should have {} elements, but is stored with {}",
                            in_quotes(*key), storage->bytes / item_size(storage->dtype), count));
    }
    storage->begin = reader.at();
    (void)reader.take(storage->bytes);
  }
  if (placed.size() != table.storages().size()) {
    file.fail(fmt::format("it has {} of its {} storages; download incomplete?", placed.size(),
                          table.storages().size()));
  }
}

}  // namespace

bool looks_like_legacy(const MappedFile& file) noexcept { return end_of_magic(file) != 0; }

TorchFile parse_torch_legacy(const MappedFile& file) {
  TorchFile torch;
  torch.file = &file;
  torch.form = "PyTorch before 1.6";
  torch.pickle_name = "its pickle";
  LegacyReader reader(file);
  PlainHost plain;
  PickleObjects objects;
  Ref root = reader.pickle(plain, "its pickle of the version", objects);
  const auto* version = std::get_if<int64_t>(&objects[root]);
  if (version == nullptr || *version != kVersion) {
    file.fail(fmt::format("is of a version of PyTorch's old form other than {}", kVersion));
  }
  root = reader.pickle(plain, "its pickle of the system", objects);
  check_system(file, objects, root);
  torch.source = std::make_unique<LegacySource>();
  torch.table = std::make_unique<TorchObjects>(*torch.source);
  torch.root = reader.pickle(*torch.table, "its pickle", torch.objects);
  root = reader.pickle(plain, "its pickle of the storages", objects);
  place_storages(reader, file, *torch.table, objects, root);
  return torch;
}

}  // namespace ferry::io
