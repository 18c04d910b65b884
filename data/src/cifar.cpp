// SPDX-License-Identifier: Apache-2.0
//
// CIFAR's binary files: records of one or two labels and 3072 bytes.
#include <cstring>

#include <fmt/format.h>

#include "bytes.h"
#include "ferry/data/files.h"
#include "ferry/error.h"

namespace ferry::data {
namespace {

constexpr size_t kImage = 3 * 32 * 32;

std::shared_ptr<TensorDataset> read(const char* where, const std::vector<std::string>& paths,
                                    size_t labels, uint8_t classes, Transform transform) {
  const size_t record = labels + kImage;
  std::vector<std::vector<uint8_t>> files;
  size_t count = 0;
  for (const std::string& path : paths) {
    files.push_back(read_file(where, path));
    const size_t size = files.back().size();
    if (size == 0 || size % record != 0)
      throw FileError(where, fmt::format("\"{}\" has {} bytes, no multiple of {}: record {} is cut "
                                         "off",
                                         path, size, record, size / record));
    count += size / record;
  }
  Tensor data = empty({static_cast<int64_t>(count), 3, 32, 32}, {kU8, Device()});
  Tensor target = empty({static_cast<int64_t>(count)}, {kI64, Device()});
  auto* pixels = data.data_ptr<uint8_t>();
  auto* classes_out = target.data_ptr<int64_t>();
  for (size_t f = 0; f < files.size(); ++f) {
    for (size_t at = 0; at < files[f].size(); at += record) {
      const uint8_t label = files[f][at + labels - 1];
      if (label >= classes)
        throw FileError(where, fmt::format("record {} of \"{}\" has the label {}; labels are below "
                                           "{}",
                                           at / record, paths[f], label, classes));
      *classes_out++ = label;
      std::memcpy(pixels, files[f].data() + at + labels, kImage);
      pixels += kImage;
    }
  }
  return std::make_shared<TensorDataset>(data, target, std::move(transform));
}

}  // namespace

std::shared_ptr<TensorDataset> cifar10(const std::string& folder, bool train, Transform transform) {
  std::vector<std::string> paths;
  if (train) {
    for (int i = 1; i <= 5; ++i) paths.push_back(fmt::format("{}/data_batch_{}.bin", folder, i));
  } else {
    paths.push_back(folder + "/test_batch.bin");
  }
  return read("cifar10", paths, 1, 10, std::move(transform));
}

std::shared_ptr<TensorDataset> cifar100(const std::string& folder, bool train,
                                        Transform transform) {
  return read("cifar100", {folder + (train ? "/train.bin" : "/test.bin")}, 2, 100,
              std::move(transform));
}

}  // namespace ferry::data
