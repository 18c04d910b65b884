// SPDX-License-Identifier: Apache-2.0
//
// The names that a checkpoint of PyTorch may import, and what they mean here.
#ifndef FERRY_IO_TORCH_NAMES_H
#define FERRY_IO_TORCH_NAMES_H

#include <optional>
#include <string>
#include <string_view>

#include "ferry/dtype.h"

namespace ferry::io {

enum class TorchRole {
  kOrderedDict,           ///< collections.OrderedDict
  kCounter,               ///< collections.Counter
  kTensor,                ///< rebuilds a tensor over a typed storage
  kTensorWithDType,       ///< the same; the dtype is an argument
  kParameter,             ///< wraps a tensor
  kTensorWithAttributes,  ///< calls one of the above
  kTensorClass,           ///< a plain tensor's or parameter's class
  kTypedStorage,          ///< class of a storage of one dtype
  kUntypedStorage,        ///< class of a storage of bytes
  kDType,
  kSize,  ///< a shape
  kDevice,
  kLayout,
};

struct TorchName {
  std::string_view module, name;
  TorchRole role;
  std::optional<DType> dtype;  ///< of a storage's class or dtype, where Ferry has it
};

/// Null for every other name.
const TorchName* find_torch_name(std::string_view module, std::string_view name) noexcept;

/// The class of storages of a dtype: "FloatStorage".
std::string_view storage_class(DType dtype) noexcept;

/// What is known about a name that is not allowed, to be added to the message
/// that refuses it. May be empty.
std::string_view hint_for(std::string_view module, std::string_view name) noexcept;

}  // namespace ferry::io

#endif  // FERRY_IO_TORCH_NAMES_H
