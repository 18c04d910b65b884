// SPDX-License-Identifier: Apache-2.0
//
// The zip form of torch.save(), which PyTorch has written since 1.6.
#include <string>

#include <fmt/format.h>

#include "io/torch_file.h"

namespace ferry::io {
namespace {

constexpr std::string_view kPickleName = "data.pkl";
constexpr uint64_t kMostPickleBytes = uint64_t{1} << 30;

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

class ZipSource : public TorchSource {
 public:
  ZipSource(const ZipArchive& archive, std::string prefix)
      : archive_(archive), prefix_(std::move(prefix)) {}

  void locate(TorchStorage& storage) override {
    storage.record = archive_.find(prefix_ + "data/" + storage.key);
    if (storage.record == nullptr) {
      throw PickleError(
          fmt::format("storage {} has no record in the archive", in_quotes(storage.key)));
    }
    if (storage.record->size != storage.bytes) {
      throw PickleError(fmt::format("storage {} should have {} bytes, but its record has {}",
                                    in_quotes(storage.key), storage.bytes, storage.record->size));
    }
  }

 private:
  const ZipArchive& archive_;
  std::string prefix_;
};

}  // namespace

TorchFile parse_torch_zip(const MappedFile& file) {
  TorchFile torch;
  torch.file = &file;
  torch.form = "PyTorch zip";
  torch.archive = std::make_unique<ZipArchive>(file);
  const ZipArchive& archive = *torch.archive;
  const std::string prefix = find_prefix(file, archive);
  torch.big_endian = is_big_endian(file, archive, prefix);
  const ZipRecord& record = *archive.find(prefix + std::string(kPickleName));
  if (record.size > kMostPickleBytes) {
    file.fail(fmt::format("its data.pkl has {} bytes, at most {} are read", record.size,
                          kMostPickleBytes));
  }
  const std::vector<std::byte> pickle = archive.read(record);
  torch.source = std::make_unique<ZipSource>(archive, prefix);
  torch.table = std::make_unique<TorchObjects>(*torch.source);
  PickleReader reader(pickle, *torch.table);
  try {
    torch.root = reader.run();
  } catch (const PickleError& e) {
    file.fail(e.what());
  }
  torch.objects = reader.take_objects();
  return torch;
}

Bytes stored_bytes(const TorchFile& torch, const TorchStorage& storage) {
  if (storage.record != nullptr) return torch.archive->stored(*storage.record);
  return torch.file->bytes().subspan(storage.begin, storage.bytes);
}

}  // namespace ferry::io
