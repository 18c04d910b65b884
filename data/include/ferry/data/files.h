// SPDX-License-Identifier: Apache-2.0
//
// Data sets and arrays in files: CIFAR, MNIST, IDX and NumPy's .npy.
//
// Everything is read at once, on the calling thread. FileError names the file,
// and the record or field that is wrong; sizes are checked against the file
// before memory is taken for them.
#ifndef FERRY_DATA_FILES_H
#define FERRY_DATA_FILES_H

#include <memory>
#include <string>

#include "ferry/data/dataset.h"

namespace ferry::data {

/// Images uint8 [3, 32, 32], targets int64 in [0, 10). `folder` holds the binary
/// version (data_batch_1.bin to data_batch_5.bin, test_batch.bin).
FERRY_API std::shared_ptr<TensorDataset> cifar10(const std::string& folder, bool train = true,
                                                 Transform transform = {});
/// As cifar10(), with targets in [0, 100), the fine labels (train.bin, test.bin).
FERRY_API std::shared_ptr<TensorDataset> cifar100(const std::string& folder, bool train = true,
                                                  Transform transform = {});
/// Images uint8 [1, rows, columns], targets int64 in [0, 10).
/// `folder` holds train-images-idx3-ubyte, train-labels-idx1-ubyte and the same
/// with t10k, uncompressed.
FERRY_API std::shared_ptr<TensorDataset> mnist(const std::string& folder, bool train = true,
                                               Transform transform = {});

/// The array of an IDX file: uint8, int8, int16, int32, float32, float64.
FERRY_API Tensor read_idx(const std::string& path);
/// The array of a .npy file, of format 1 to 3: bool, uint8, signed integers and
/// floats of either byte order, in C's or Fortran's order. Object arrays, which
/// hold Python code, are refused.
FERRY_API Tensor read_npy(const std::string& path);

}  // namespace ferry::data

#endif  // FERRY_DATA_FILES_H
