// SPDX-License-Identifier: Apache-2.0
//
// IDX files, in which MNIST comes: two zeros, a type, the number of dimensions,
// sizes and elements, all big-endian.
#include <bit>

#include <fmt/format.h>

#include "bytes.h"
#include "ferry/data/files.h"
#include "ferry/error.h"

namespace ferry::data {
namespace {

DType dtype_of_code(const std::string& path, uint8_t code) {
  switch (code) {
    case 0x08:
      return kU8;
    case 0x09:
      return kI8;
    case 0x0B:
      return kI16;
    case 0x0C:
      return kI32;
    case 0x0D:
      return kF32;
    case 0x0E:
      return kF64;
    default:
      throw FileError("read_idx",
                      fmt::format("\"{}\" has elements of the unknown type {:#04x}", path, code));
  }
}

}  // namespace

Tensor read_idx(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file("read_idx", path);
  if (bytes.size() > 1 && bytes[0] == 0x1F && bytes[1] == 0x8B)
    throw FileError("read_idx", fmt::format("\"{}\" is compressed; unpack it with gunzip", path));
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0)
    throw FileError("read_idx", fmt::format("\"{}\" does not begin as an IDX file", path));
  const DType dtype = dtype_of_code(path, bytes[2]);
  const size_t dims = bytes[3], head = 4 + 4 * dims;
  if (bytes.size() < head)
    throw FileError("read_idx", fmt::format("\"{}\" ends among its {} sizes", path, dims));
  Shape shape;
  for (size_t at = 4; at < head; at += 4)
    shape.push_back(int64_t{bytes[at]} << 24 | int64_t{bytes[at + 1]} << 16 |
                    int64_t{bytes[at + 2]} << 8 | int64_t{bytes[at + 3]});
  return array_of("read_idx", path, bytes, head, shape, dtype,
                  std::endian::native == std::endian::little);
}

std::shared_ptr<TensorDataset> mnist(const std::string& folder, bool train, Transform transform) {
  const std::string start = folder + (train ? "/train-" : "/t10k-");
  const std::string images_path = start + "images-idx3-ubyte";
  const std::string labels_path = start + "labels-idx1-ubyte";
  const Tensor images = read_idx(images_path), labels = read_idx(labels_path);
  if (images.dtype() != kU8 || images.dim() != 3)
    throw FileError("mnist",
                    fmt::format("\"{}\" holds {} {}, not bytes in three dimensions", images_path,
                                name(images.dtype()), to_string(images.shape())));
  if (labels.dtype() != kU8 || labels.shape() != Shape{images.size(0)})
    throw FileError("mnist",
                    fmt::format("\"{}\" holds {} {}, not a byte for each of {} images", labels_path,
                                name(labels.dtype()), to_string(labels.shape()), images.size(0)));
  Tensor target = empty(labels.shape(), {kI64, Device()});
  for (int64_t i = 0; i < labels.numel(); ++i) {
    const uint8_t label = labels.data_ptr<uint8_t>()[i];
    if (label > 9)
      throw FileError("mnist", fmt::format("record {} of \"{}\" has the label {}; labels are below "
                                           "10",
                                           i, labels_path, label));
    target.data_ptr<int64_t>()[i] = label;
  }
  return std::make_shared<TensorDataset>(images.unsqueeze(1), target, std::move(transform));
}

}  // namespace ferry::data
