// SPDX-License-Identifier: Apache-2.0
//
// Building storages and tensors from a pickle's calls, trusting no number.
#include "io/torch_objects.h"

#include <algorithm>
#include <charconv>

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

/// From a list of pairs, as Python 2 wrote ordered dicts.
PickleDict dict_of(const PickleObjects& objects, const PickleList& pairs, const Arguments& args) {
  PickleDict dict;
  for (const Ref ref : pairs.items) {
    const std::vector<Ref>* pair = nullptr;
    if (const auto* list = std::get_if<PickleList>(&objects[ref])) pair = &list->items;
    if (const auto* tuple = std::get_if<PickleTuple>(&objects[ref])) pair = &tuple->items;
    if (pair == nullptr || pair->size() != 2) args.refuse("has something else than pairs in it");
    dict.items.emplace_back((*pair)[0], (*pair)[1]);
  }
  return dict;
}

}  // namespace

PickleObject TorchSource::numbered(int64_t number) const {
  throw PickleError(fmt::format("it has {} where a tuple that names a storage belongs", number));
}

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
  if (const auto* pairs = std::get_if<PickleList>(&contents)) return dict_of(objects, *pairs, args);
  if (const auto* dict = std::get_if<PickleDict>(&contents)) return *dict;
  args.refuse(fmt::format("has {} as contents", words_for(contents)));
}

PickleObject TorchObjects::make_tensor(const PickleObjects& objects, const TorchName& function,
                                       const PickleTuple& arguments) {
  Arguments args(objects, arguments, function.name);
  TorchTensor tensor;
  const auto storage_view = args.next<PickleStorage>("a storage");
  tensor.storage = storage_view.index;
  if (__builtin_add_overflow(args.next<int64_t>("an offset"), storage_view.offset,
                             &tensor.offset)) {
    args.refuse("has an offset beyond 64 bits");
  }
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
  return PickleTensor{add_tensor(std::move(tensor))};
}

uint32_t TorchObjects::add_tensor(TorchTensor tensor) {
  check_inside(tensor);
  tensors_.push_back(std::move(tensor));
  return static_cast<uint32_t>(tensors_.size() - 1);
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

const TorchName& TorchObjects::storage_class(const PickleObject& object) const {
  const TorchName& type = class_of(object, TorchRole::kTypedStorage, TorchRole::kUntypedStorage);
  if (type.role == TorchRole::kTypedStorage && !type.dtype) {
    throw PickleError(fmt::format("it has a {}, a dtype that Ferry does not have", type.name));
  }
  return type;
}

TorchStorage* TorchObjects::find(const std::string& key) noexcept {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &storages_[found->second];
}

uint32_t TorchObjects::add_storage(TorchStorage storage) {
  const auto [found, fresh] = keys_.emplace(storage.key, static_cast<uint32_t>(storages_.size()));
  if (fresh) {
    storages_.push_back(std::move(storage));
    source_.locate(storages_.back());
    return found->second;
  }
  const TorchStorage& known = storages_[found->second];
  if (known.dtype != storage.dtype || known.untyped != storage.untyped ||
      known.tag != storage.tag || known.bytes != storage.bytes) {
    throw PickleError(fmt::format("storage {} comes twice, with different dtypes, sizes or devices",
                                  in_quotes(storage.key)));
  }
  return found->second;
}

PickleObject TorchObjects::persistent(const PickleObjects& objects, const PickleObject& id) {
  if (const auto* number = std::get_if<int64_t>(&id)) return source_.numbered(*number);
  if (const auto* text = std::get_if<std::string>(&id)) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error == std::errc() && end == text->data() + text->size()) {
      return source_.numbered(number);
    }
  }
  const auto* tuple = std::get_if<PickleTuple>(&id);
  if (tuple == nullptr) {
    throw PickleError(
        fmt::format("it has {} where a tuple that names a storage belongs", words_for(id)));
  }
  return make_storage(objects, *tuple);
}

PickleObject TorchObjects::make_storage(const PickleObjects& objects, const PickleTuple& id) {
  Arguments args(objects, id, "a storage's name");
  if (args.next<std::string>("a word") != "storage") args.refuse("does not begin with 'storage'");
  const TorchName& type = storage_class(args.next());
  TorchStorage storage;
  storage.key = args.next<std::string>("a key");
  storage.tag = args.next<std::string>("a device");
  const int64_t count = args.next<int64_t>("a number of elements");
  PickleStorage view{0, 0, count};
  if (args.more()) {  // which part of it is meant, in files before 1.6
    const PickleObject& part = args.next();
    if (const auto* tuple = std::get_if<PickleTuple>(&part)) {
      Arguments numbers(objects, *tuple, "a part of a storage");
      (void)numbers.next<std::string>("a key");
      view.offset = numbers.next<int64_t>("an offset");
      view.count = numbers.next<int64_t>("a size");
      numbers.finish();
    } else if (!std::holds_alternative<PickleNone>(part)) {
      args.refuse(fmt::format("has {} as its part", words_for(part)));
    }
  }
  args.finish();
  storage.untyped = type.role == TorchRole::kUntypedStorage;
  storage.dtype = type.dtype.value_or(kU8);
  int64_t bytes = 0;
  if (count < 0 ||
      __builtin_mul_overflow(count, static_cast<int64_t>(item_size(storage.dtype)), &bytes)) {
    throw PickleError(fmt::format("storage {} has {} elements", in_quotes(storage.key), count));
  }
  if (view.offset < 0 || view.count < 0 || view.offset > count ||
      view.count > count - view.offset) {
    throw PickleError(fmt::format("the elements {} and {} more of storage {} are outside of its {}",
                                  view.offset, view.count, in_quotes(storage.key), count));
  }
  storage.bytes = static_cast<uint64_t>(bytes);
  view.index = add_storage(std::move(storage));
  return view;
}

}  // namespace ferry::io
