// SPDX-License-Identifier: Apache-2.0
//
// save_torch(): the pickle first, which finds the storages, then each of them.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "ferry/error.h"
#include "ferry/io/save.h"
#include "io/atomic_file.h"
#include "io/pickle_writer.h"
#include "io/zip_writer.h"
#include "runtime/copy.h"
#include "runtime/device_state.h"
#include "runtime/log.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

constexpr uint64_t kPartBytes = uint64_t{8} << 20;
constexpr const char* kFolder = "archive/";

/// What is written of one storage, and in which dtype.
struct Stored {
  Tensor holder;                  ///< keeps the storage
  uint64_t begin = 0, bytes = 0;  ///< of the storage
  uint64_t used_begin = std::numeric_limits<uint64_t>::max(), used_end = 0;
  const detail::Storage& storage() const { return *holder.impl()->storage; }
};

/// The storages of a value, in the order in which the pickle names them.
class StoragePlan : public io::StorageNames {
 public:
  StoragePlan(const io::Value& value, const TorchSaveOptions& options) : options_(options) {
    collect(value, 0);
    for (Stored& stored : stored_) settle(stored);
  }

  io::StorageName name_of(const Tensor& tensor) override {
    const size_t index = index_.at(key_of(tensor));
    const Stored& stored = stored_[index];
    const auto item = static_cast<int64_t>(item_size(tensor.dtype()));
    const auto begin = static_cast<int64_t>(stored.begin) / item;
    // An empty tensor may stand anywhere.
    const int64_t offset = tensor.numel() == 0 ? 0 : tensor.storage_offset() - begin;
    return {std::to_string(index), options_.location.value_or(tensor.device().str()),
            static_cast<int64_t>(stored.bytes) / item, offset};
  }

  const std::vector<Stored>& storages() const noexcept { return stored_; }

 private:
  using Key = std::pair<const detail::Storage*, DType>;

  static Key key_of(const Tensor& tensor) { return {tensor.impl()->storage, tensor.dtype()}; }

  void collect(const io::Value& value, int depth) {
    constexpr int kBeyond = 256;  // the pickle refuses such a value
    if (depth > kBeyond) return;
    if (value.is_dict()) {
      for (const auto& [key, entry] : value.items()) collect(entry, depth + 1);
    } else if (value.is_list() || value.is_tuple()) {
      for (const io::Value& entry : value) collect(entry, depth + 1);
    } else if (value.is_tensor() && value.as_tensor().defined()) {
      add(value.as_tensor());
    }
  }

  void add(const Tensor& tensor) {
    const auto [known, fresh] = index_.emplace(key_of(tensor), stored_.size());
    if (fresh) stored_.push_back({tensor});
    if (tensor.numel() == 0) return;
    const detail::Span span = detail::span_of(*tensor.impl());
    const uint64_t item = item_size(tensor.dtype());
    Stored& stored = stored_[known->second];
    stored.used_begin = std::min(stored.used_begin, static_cast<uint64_t>(span.begin) * item);
    stored.used_end = std::max(stored.used_end, static_cast<uint64_t>(span.end) * item);
  }

  void settle(Stored& stored) const {
    constexpr uint64_t kMostUnused = 10;  // times what is used
    constexpr uint64_t kNotWorthAWord = uint64_t{1} << 16;
    const uint64_t item = item_size(stored.holder.dtype());
    const uint64_t whole = stored.storage().bytes / item * item;
    const uint64_t used =
        stored.used_end > stored.used_begin ? stored.used_end - stored.used_begin : 0;
    stored.bytes = options_.compact ? used : whole;
    if (options_.compact) stored.begin = used == 0 ? 0 : stored.used_begin;
    if (!options_.compact && whole > kNotWorthAWord && whole / kMostUnused > used) {
      runtime::log(LogLevel::kWarn, "save_torch",
                   fmt::format("a storage of {} bytes is written of which tensors use {}; save "
                               "clone() of them, or with the option compact",
                               whole, used));
    }
  }

  const TorchSaveOptions& options_;
  std::map<Key, size_t> index_;
  std::vector<Stored> stored_;
};

io::Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

void write_storage(io::ZipWriter& zip, const Stored& stored) {
  detail::Storage& storage = *stored.holder.impl()->storage;
  if (stored.bytes == 0) return;
  const uint64_t part_bytes = std::min(kPartBytes, stored.bytes);
  const auto part = std::make_unique_for_overwrite<std::byte[]>(part_bytes);
  if (storage.host != nullptr) {
    storage.wait_for_uses();
    storage.device->wait_if_asynchronous();
    zip.write({storage.host + stored.begin, stored.bytes});
    return;
  }
  for (uint64_t done = 0; done < stored.bytes; done += part_bytes) {
    const uint64_t count = std::min(part_bytes, stored.bytes - done);
    runtime::copy_to_host(part.get(), {&storage, stored.begin + done}, count);
    zip.write({part.get(), count});
  }
}

bool names_torch_file(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  return ending == ".pt" || ending == ".pth" || ending == ".ckpt" || ending == ".bin";
}

}  // namespace

void save_torch(const io::Value& value, const std::string& path, const TorchSaveOptions& options) {
  StoragePlan plan(value, options);
  const std::string pickle = io::PickleWriter(plan).write(value);
  io::AtomicFile file(path);
  const std::string folder = kFolder;
  {
    io::ZipWriter zip(file);
    zip.add(folder + "data.pkl", bytes_of(pickle));
    zip.add(folder + "byteorder", bytes_of("little"));
    for (size_t i = 0; i < plan.storages().size(); ++i) {
      const Stored& stored = plan.storages()[i];
      zip.begin(folder + "data/" + std::to_string(i), stored.bytes);
      write_storage(zip, stored);
    }
    zip.add(folder + "version", bytes_of("3\n"));
    zip.finish();
  }
  file.commit();
}

void save_torch(const StateDict& state, const std::string& path, const TorchSaveOptions& options) {
  save_torch(io::Value::of(state), path, options);
}

void save(const StateDict& state, const std::string& path) {
  if (names_torch_file(path)) return save_torch(state, path);
  save_safetensors(state, path);
}

}  // namespace ferry
