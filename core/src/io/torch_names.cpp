// SPDX-License-Identifier: Apache-2.0
//
// The allow-list. A name that is not on it is never looked up anywhere.
#include "io/torch_names.h"

namespace ferry::io {
namespace {

using Role = TorchRole;

constexpr TorchName kNames[] = {
    {"collections", "OrderedDict", Role::kOrderedDict, {}},
    {"collections", "Counter", Role::kCounter, {}},
    {"torch._utils", "_rebuild_tensor", Role::kTensor, {}},
    {"torch._utils", "_rebuild_tensor_v2", Role::kTensor, {}},
    {"torch._utils", "_rebuild_tensor_v3", Role::kTensorWithDType, {}},
    {"torch._utils", "_rebuild_parameter", Role::kParameter, {}},
    {"torch._utils", "_rebuild_parameter_with_state", Role::kParameter, {}},
    {"torch._tensor", "_rebuild_from_type_v2", Role::kTensorWithAttributes, {}},
    {"torch", "Tensor", Role::kTensorClass, {}},
    {"torch._tensor", "Tensor", Role::kTensorClass, {}},
    {"torch.nn.parameter", "Parameter", Role::kTensorClass, {}},
    {"torch", "BoolTensor", Role::kTensorClass, {}},
    {"torch", "ByteTensor", Role::kTensorClass, {}},
    {"torch", "CharTensor", Role::kTensorClass, {}},
    {"torch", "ShortTensor", Role::kTensorClass, {}},
    {"torch", "IntTensor", Role::kTensorClass, {}},
    {"torch", "LongTensor", Role::kTensorClass, {}},
    {"torch", "HalfTensor", Role::kTensorClass, {}},
    {"torch", "FloatTensor", Role::kTensorClass, {}},
    {"torch", "DoubleTensor", Role::kTensorClass, {}},
    {"torch.nn.parameter", "Buffer", Role::kTensorClass, {}},
    {"torch", "BoolStorage", Role::kTypedStorage, kBool},
    {"torch", "ByteStorage", Role::kTypedStorage, kU8},
    {"torch", "CharStorage", Role::kTypedStorage, kI8},
    {"torch", "ShortStorage", Role::kTypedStorage, kI16},
    {"torch", "IntStorage", Role::kTypedStorage, kI32},
    {"torch", "LongStorage", Role::kTypedStorage, kI64},
    {"torch", "HalfStorage", Role::kTypedStorage, kF16},
    {"torch", "BFloat16Storage", Role::kTypedStorage, kBF16},
    {"torch", "FloatStorage", Role::kTypedStorage, kF32},
    {"torch", "DoubleStorage", Role::kTypedStorage, kF64},
    {"torch.storage", "UntypedStorage", Role::kUntypedStorage, {}},
    {"torch.storage", "_UntypedStorage", Role::kUntypedStorage, {}},
    {"torch", "UntypedStorage", Role::kUntypedStorage, {}},
    {"torch", "bool", Role::kDType, kBool},
    {"torch", "uint8", Role::kDType, kU8},
    {"torch", "int8", Role::kDType, kI8},
    {"torch", "int16", Role::kDType, kI16},
    {"torch", "int32", Role::kDType, kI32},
    {"torch", "int64", Role::kDType, kI64},
    {"torch", "float16", Role::kDType, kF16},
    {"torch", "bfloat16", Role::kDType, kBF16},
    {"torch", "float32", Role::kDType, kF32},
    {"torch", "float64", Role::kDType, kF64},
    // Harmless as a note ("trained in ..."); a tensor of them is refused.
    {"torch", "uint16", Role::kDType, {}},
    {"torch", "uint32", Role::kDType, {}},
    {"torch", "uint64", Role::kDType, {}},
    {"torch", "complex32", Role::kDType, {}},
    {"torch", "complex64", Role::kDType, {}},
    {"torch", "complex128", Role::kDType, {}},
    {"torch", "float8_e4m3fn", Role::kDType, {}},
    {"torch", "float8_e4m3fnuz", Role::kDType, {}},
    {"torch", "float8_e5m2", Role::kDType, {}},
    {"torch", "float8_e5m2fnuz", Role::kDType, {}},
    {"torch", "float8_e8m0fnu", Role::kDType, {}},
    {"torch", "qint8", Role::kDType, {}},
    {"torch", "quint8", Role::kDType, {}},
    {"torch", "qint32", Role::kDType, {}},
    {"torch", "ComplexFloatStorage", Role::kTypedStorage, {}},
    {"torch", "ComplexDoubleStorage", Role::kTypedStorage, {}},
    {"torch", "QInt8Storage", Role::kTypedStorage, {}},
    {"torch", "QUInt8Storage", Role::kTypedStorage, {}},
    {"torch", "QInt32Storage", Role::kTypedStorage, {}},
    {"torch", "QUInt4x2Storage", Role::kTypedStorage, {}},
    {"torch", "QUInt2x4Storage", Role::kTypedStorage, {}},
    {"torch", "Size", Role::kSize, {}},
    {"torch", "device", Role::kDevice, {}},
    {"torch.serialization", "_get_layout", Role::kLayout, {}},
};

struct Hint {
  std::string_view module, name, words;
};

constexpr Hint kHints[] = {
    {"torch._utils", "_rebuild_qtensor", "a quantised tensor"},
    {"torch._utils", "_rebuild_sparse_tensor", "a sparse tensor"},
    {"torch._utils", "_rebuild_sparse_csr_tensor", "a sparse tensor"},
    {"torch._utils", "_rebuild_nested_tensor", "a nested tensor"},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", "a tensor without data"},
    {"torch._utils", "_rebuild_device_tensor_from_numpy", "a tensor in an XLA form; save .cpu()"},
    {"argparse", "Namespace", "the options of a training script; save vars(options)"},
    {"_codecs", "encode", "a bytes object; save a tensor"},
    {"numpy.core.multiarray", "scalar", "a NumPy number; save float(x) or int(x)"},
    {"numpy._core.multiarray", "scalar", "a NumPy number; save float(x) or int(x)"},
    {"numpy.core.multiarray", "_reconstruct", "a NumPy array; save torch.from_numpy(x)"},
    {"numpy._core.multiarray", "_reconstruct", "a NumPy array; save torch.from_numpy(x)"},
};

}  // namespace

const TorchName* find_torch_name(std::string_view module, std::string_view name) noexcept {
  for (const TorchName& known : kNames) {
    if (known.module == module && known.name == name) return &known;
  }
  return nullptr;
}

std::string_view storage_class(DType dtype) noexcept {
  for (const TorchName& known : kNames) {
    if (known.role == Role::kTypedStorage && known.dtype == dtype) return known.name;
  }
  return {};
}

std::string_view hint_for(std::string_view module, std::string_view name) noexcept {
  for (const Hint& hint : kHints) {
    if (hint.module == module && hint.name == name) return hint.words;
  }
  if (module.starts_with("torch.nn.modules") || module == "__main__") {
    return "a whole object; save its state_dict() instead";
  }
  return {};
}

}  // namespace ferry::io
