// SPDX-License-Identifier: Apache-2.0
//
// Building storages and tensors from a pickle's calls, trusting no number.
#include "io/torch_objects.h"

#include <algorithm>

#include <fmt/format.h>

namespace ferry::io {
namespace {

__extension__ using Wide = __int128;

constexpr int64_t kMostStride = int64_t{1} << 48;

/// The arguments of one call, taken in turn.
class Arguments {
 public:
  Arguments(const PickleObjects& objects, const PickleTuple& tuple, std::string_view call)
      : objects_(objects), items_(tuple.items), call_(call) {}

  bool more() const { return next_ < items_.size(); }
  const PickleObject& next() {
    if (!more()) refuse("has too few arguments");
    return objects_[items_[next_++]];
  }
  template <class T>
  const T& next(const char* wanted) {
    const PickleObject& object = next();
    if (const T* value = std::get_if<T>(&object)) return *value;
    refuse(fmt::format("has {} where {} belongs", words_for(object), wanted));
  }
  /// A tuple of sizes or strides.
  Shape next_ints(const char* wanted) {
    Shape out;
    for (const Ref ref : next<PickleTuple>(wanted).items) {
      const int64_t* value = std::get_if<int64_t>(&objects_[ref]);
      if (value == nullptr) refuse(fmt::format("has {} in {}", words_for(objects_[ref]), wanted));
      if (out.size() == FERRY_MAX_DIMS) {
        refuse(fmt::format("has more than {} dimensions", FERRY_MAX_DIMS));
      }
      if (*value < 0) refuse(fmt::format("has {} in {}", *value, wanted));
      out.push_back(*value);
    }
    return out;
  }
  /// Nothing but what an ordinary tensor has there.
  void next_empty_dict(const char* wanted) {
    const PickleObject& object = next();
    if (std::holds_alternative<PickleNone>(object)) return;
    const PickleDict* dict = std::get_if<PickleDict>(&object);
    if (dict == nullptr || !dict->items.empty()) refuse(fmt::format("has {}", wanted));
  }
  void finish() const {
    if (more()) refuse("has too many arguments");
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw PickleError(fmt::format("{} {}", call_, reason));
  }

 private:
  const PickleObjects& objects_;
  const std::vector<Ref>& items_;
  std::string_view call_;
  size_t next_ = 0;
};

}  // namespace

PickleObject TorchObjects::import_global(std::string_view module, std::string_view name) {
  const TorchName* known = find_torch_name(module, name);
  if (known == nullptr) {
    const std::string_view hint = hint_for(module, name);
    throw PickleError(fmt::format(
        "it names {} of the module {}{}{}{}, and files may name tensors and plain containers only; "
        "no code of a file is ever run. If you trust the file, open it in Python and save its "
        "state_dict() again",
        in_quotes(name), in_quotes(module), hint.empty() ? "" : " (", hint,
        hint.empty() ? "" : ")"));
  }
  globals_.push_back(known);
  return PickleGlobal{static_cast<uint32_t>(globals_.size() - 1)};
}

std::string TorchObjects::name_of(PickleGlobal global) const {
  const TorchName& name = *globals_[global.index];
  return fmt::format("{}.{}", name.module, name.name);
}

const TorchName& TorchObjects::class_of(const PickleObject& object, TorchRole role,
                                        TorchRole other) const {
  if (const auto* global = std::get_if<PickleGlobal>(&object)) {
    const TorchName& name = *globals_[global->index];
    if (name.role == role || name.role == other) return name;
    throw PickleError(fmt::format("it uses {} as what it is not", name_of(*global)));
  }
  throw PickleError(fmt::format("it has {} where a class belongs", words_for(object)));
}

PickleObject TorchObjects::call(const PickleObjects& objects, PickleGlobal global,
                                const PickleTuple& arguments) {
  const TorchName& name = *globals_[global.index];
  switch (name.role) {
    case TorchRole::kOrderedDict:
    case TorchRole::kCounter:
      return make_dict(objects, name, arguments);
    case TorchRole::kTensor:
    case TorchRole::kTensorWithDType:
      return make_tensor(objects, name, arguments);
    case TorchRole::kParameter:
    case TorchRole::kTensorWithAttributes:
      return unwrap(objects, name, arguments);
    case TorchRole::kSize: {
      Arguments args(objects, arguments, name.name);
      PickleTuple sizes = args.next<PickleTuple>("a tuple of sizes");
      args.finish();
      return sizes;
    }
    case TorchRole::kDevice: {
      Arguments args(objects, arguments, name.name);
      std::string device = args.next<std::string>("a device's name");
      if (args.more()) device += ":" + std::to_string(args.next<int64_t>("an index"));
      args.finish();
      return device;
    }
    case TorchRole::kLayout: {
      Arguments args(objects, arguments, name.name);
      std::string layout = args.next<std::string>("a layout's name");
      args.finish();
      return layout;
    }
    default:
      throw PickleError(fmt::format("it calls {}, which is no function", name_of(global)));
  }
}

PickleObject TorchObjects::make_dict(const PickleObjects& objects, const TorchName& type,
                                     const PickleTuple& arguments) const {
  Arguments args(objects, arguments, type.name);
  if (!args.more()) return PickleDict{};
  const PickleObject& contents = args.next();
  args.finish();
  if (const auto* dict = std::get_if<PickleDict>(&contents)) return *dict;
  args.refuse(fmt::format("has {} as contents", words_for(contents)));
}

PickleObject TorchObjects::make_tensor(const PickleObjects& objects, const TorchName& function,
                                       const PickleTuple& arguments) {
  Arguments args(objects, arguments, function.name);
  TorchTensor tensor;
  tensor.storage = args.next<PickleStorage>("a storage").index;
  tensor.offset = args.next<int64_t>("an offset");
  tensor.shape = args.next_ints("the sizes");
  tensor.strides = args.next_ints("the strides");
  if (args.more()) (void)args.next<bool>("requires_grad");
  if (args.more()) args.next_empty_dict("hooks that Python code would run");
  tensor.dtype = storages_[tensor.storage].dtype;
  if (function.role == TorchRole::kTensorWithDType) {
    const TorchName& dtype = class_of(args.next(), TorchRole::kDType, TorchRole::kDType);
    if (!dtype.dtype) {
      throw PickleError(
          fmt::format("it has a tensor of {}, a dtype that Ferry does not have", dtype.name));
    }
    tensor.dtype = *dtype.dtype;
  }
  if (args.more()) args.next_empty_dict("marks of a conjugate or negative view");
  args.finish();
  const TorchStorage& storage = storages_[tensor.storage];
  if (!storage.untyped && tensor.dtype != storage.dtype) {
    args.refuse("views a storage of another dtype");
  }
  check_inside(tensor);
  tensors_.push_back(std::move(tensor));
  return PickleTensor{static_cast<uint32_t>(tensors_.size() - 1)};
}

void TorchObjects::check_inside(const TorchTensor& tensor) const {
  const auto refuse = [&](std::string_view reason) {
    throw PickleError(fmt::format("a tensor of shape {} with strides {} and offset {} {}",
                                  to_string(tensor.shape), to_string(tensor.strides), tensor.offset,
                                  reason));
  };
  if (tensor.shape.size() != tensor.strides.size()) refuse("has not one stride for each size");
  // Those of sizes of 1 are not bounded by the storage.
  if (std::any_of(tensor.strides.begin(), tensor.strides.end(),
                  [](int64_t stride) { return stride > kMostStride; })) {
    refuse("has an absurd stride");
  }
  if (tensor.offset < 0) refuse("begins before its storage");
  const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  const auto item = static_cast<int64_t>(item_size(tensor.dtype));
  int64_t bytes = item;
  Wide last = tensor.offset;
  for (size_t d = 0; d < tensor.shape.size() && !empty; ++d) {
    if (__builtin_mul_overflow(bytes, tensor.shape[d], &bytes)) refuse("is beyond 64 bits");
    last += static_cast<Wide>(tensor.shape[d] - 1) * tensor.strides[d];
  }
  const uint64_t held = storages_[tensor.storage].bytes;
  if ((last + (empty ? 0 : 1)) * item > static_cast<Wide>(held)) {
    refuse(fmt::format("reaches outside of its storage of {} bytes", held));
  }
}

PickleObject TorchObjects::unwrap(const PickleObjects& objects, const TorchName& function,
                                  const PickleTuple& arguments) {
  Arguments args(objects, arguments, function.name);
  if (function.role == TorchRole::kParameter) {
    const PickleTensor tensor = args.next<PickleTensor>("a tensor");
    if (args.more()) (void)args.next<bool>("requires_grad");
    if (args.more()) args.next_empty_dict("hooks that Python code would run");
    if (args.more()) (void)args.next();  // attributes
    args.finish();
    return tensor;
  }
  const TorchName& inner = class_of(args.next(), TorchRole::kTensor, TorchRole::kTensorWithDType);
  (void)class_of(args.next(), TorchRole::kTensorClass, TorchRole::kTensorClass);
  const PickleTuple& rest = args.next<PickleTuple>("a tuple of arguments");
  if (args.more()) (void)args.next();  // attributes
  args.finish();
  return make_tensor(objects, inner, rest);
}

PickleObject TorchObjects::persistent(const PickleObjects& objects, const PickleTuple& id) {
  Arguments args(objects, id, "a storage's name");
  if (args.next<std::string>("a word") != "storage") args.refuse("does not begin with 'storage'");
  const TorchName& type =
      class_of(args.next(), TorchRole::kTypedStorage, TorchRole::kUntypedStorage);
  const std::string& key = args.next<std::string>("a key");
  TorchStorage storage;
  storage.tag = args.next<std::string>("a device");
  const int64_t count = args.next<int64_t>("a number of elements");
  args.finish();
  storage.untyped = type.role == TorchRole::kUntypedStorage;
  if (!storage.untyped && !type.dtype) {
    throw PickleError(fmt::format("it has a {}, a dtype that Ferry does not have", type.name));
  }
  storage.dtype = type.dtype.value_or(kU8);
  int64_t bytes = 0;
  if (count < 0 ||
      __builtin_mul_overflow(count, static_cast<int64_t>(item_size(storage.dtype)), &bytes)) {
    throw PickleError(fmt::format("storage {} has {} elements", in_quotes(key), count));
  }
  storage.bytes = static_cast<uint64_t>(bytes);
  storage.record = archive_.find(prefix_ + "data/" + key);
  if (storage.record == nullptr) {
    throw PickleError(fmt::format("storage {} has no record in the archive", in_quotes(key)));
  }
  if (storage.record->size != storage.bytes) {
    throw PickleError(fmt::format("storage {} should have {} bytes, but its record has {}",
                                  in_quotes(key), bytes, storage.record->size));
  }
  const auto [found, fresh] = keys_.emplace(key, static_cast<uint32_t>(storages_.size()));
  if (fresh) {
    storages_.push_back(std::move(storage));
  } else {
    const TorchStorage& known = storages_[found->second];
    if (known.dtype != storage.dtype || known.untyped != storage.untyped ||
        known.tag != storage.tag) {
      throw PickleError(
          fmt::format("storage {} comes twice, with different dtypes or devices", in_quotes(key)));
    }
  }
  return PickleStorage{found->second};
}

}  // namespace ferry::io
