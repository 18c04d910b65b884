// SPDX-License-Identifier: Apache-2.0
//
// The opcodes of a pickle, each with its checks.
#include "io/pickle_reader.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace ferry::io {

static_assert(std::endian::native == std::endian::little, "numbers in files are little-endian");

namespace {

constexpr uint8_t kNewestProtocol = 5;
// Far more than real files need, by calls that copy their arguments.
constexpr uint64_t kMostCopied = 16;

uint64_t bytes_of(const PickleObject& object) noexcept {
  if (const auto* text = std::get_if<std::string>(&object)) return text->size();
  if (const auto* tuple = std::get_if<PickleTuple>(&object))
    return tuple->items.size() * sizeof(Ref);
  if (const auto* dict = std::get_if<PickleDict>(&object)) {
    return dict->items.size() * sizeof dict->items[0];
  }
  return 0;
}

}  // namespace

/// Those of protocols 2 to 5 that a file of PyTorch may hold.
enum class PickleReader::Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kBinFloat = 'G',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kEmptyList = ']',
  kList = 'l',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyDict = '}',
  kDict = 'd',
  kSetItem = 's',
  kSetItems = 'u',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kMemoize = 0x94,
  kBinGet = 'h',
  kLongBinGet = 'j',
  kGlobal = 'c',
  kStackGlobal = 0x93,
  kReduce = 'R',
  kBuild = 'b',
  kBinPersId = 'Q',
  kProto = 0x80,
  kFrame = 0x95,
};

const char* words_for(const PickleObject& object) noexcept {
  constexpr const char* kWords[] = {"None",      "a bool",   "an int",
                                    "a float",   "a string", "a list",
                                    "a tuple",   "a dict",   "a class or function",
                                    "a storage", "a tensor"};
  static_assert(std::size(kWords) == std::variant_size_v<PickleObject>);
  return kWords[object.index()];
}

template <class T>
T PickleReader::read() {
  T value;
  std::memcpy(&value, read_text(sizeof value).data(), sizeof value);
  return value;
}

std::string_view PickleReader::read_text(uint64_t size) {
  if (size > pickle_.size() - at_) throw PickleError("it ends too early");
  const std::string_view text(reinterpret_cast<const char*>(pickle_.data()) + at_, size);
  at_ += size;
  return text;
}

std::string_view PickleReader::read_line() {
  const std::string_view rest(reinterpret_cast<const char*>(pickle_.data()) + at_,
                              pickle_.size() - at_);
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) throw PickleError("it ends too early");
  at_ += end + 1;
  return rest.substr(0, end);
}

void PickleReader::push(PickleObject object) {
  if (objects_.size() >= UINT32_MAX) throw PickleError("it has too many objects");
  objects_.push_back(std::move(object));
  stack_.push_back(static_cast<Ref>(objects_.size() - 1));
}

/// A call may return a copy of its argument, and an argument may be used again
/// and again: without a limit a small file could fill the memory.
void PickleReader::push_result(PickleObject object) {
  copied_ += bytes_of(object);
  if (copied_ / kMostCopied > pickle_.size()) throw PickleError("it copies its parts endlessly");
  push(std::move(object));
}

Ref PickleReader::top() const {
  // What lies below a mark belongs to an object that is not complete yet.
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    throw PickleError("it takes from an empty stack");
  }
  return stack_.back();
}

Ref PickleReader::pop() {
  const Ref ref = top();
  stack_.pop_back();
  return ref;
}

std::vector<Ref> PickleReader::pop_to_mark() {
  if (marks_.empty()) throw PickleError("it goes back to a mark that is not there");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Ref> values(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return values;
}

template <class T>
const T& PickleReader::as(Ref ref, const char* wanted) const {
  if (const T* object = std::get_if<T>(&objects_[ref])) return *object;
  throw PickleError(fmt::format("it has {} where {} belongs", words_for(objects_[ref]), wanted));
}

void PickleReader::append(std::vector<Ref> values) {
  const Ref target = top();
  (void)as<PickleList>(target, "a list");
  auto& items = std::get<PickleList>(objects_[target]).items;
  items.insert(items.end(), values.begin(), values.end());
}

void PickleReader::set_items(const std::vector<Ref>& keys_and_values) {
  const Ref target = top();
  (void)as<PickleDict>(target, "a dict");
  if (keys_and_values.size() % 2 != 0) throw PickleError("a key in it has no value");
  auto& items = std::get<PickleDict>(objects_[target]).items;
  for (size_t i = 0; i < keys_and_values.size(); i += 2) {
    items.emplace_back(keys_and_values[i], keys_and_values[i + 1]);
  }
}

void PickleReader::push_tuple(size_t count) {
  PickleTuple tuple;
  for (size_t i = 0; i < count; ++i) tuple.items.push_back(pop());
  std::reverse(tuple.items.begin(), tuple.items.end());
  push(std::move(tuple));
}

void PickleReader::push_global(std::string_view module, std::string_view name) {
  push(host_.import_global(module, name));
}

void PickleReader::push_long(uint64_t size) {
  const std::string_view digits = read_text(size);
  if (digits.size() > sizeof(int64_t)) throw PickleError("it has an int of more than 64 bits");
  const bool negative = !digits.empty() && (digits.back() & 0x80) != 0;
  int64_t value = negative ? -1 : 0;
  std::memcpy(&value, digits.data(), digits.size());
  push(value);
}

void PickleReader::build() {
  const Ref state = pop();
  // An ordered dict may carry attributes, such as the versions of a module's
  // parts; they are no part of the data.
  (void)as<PickleDict>(top(), "a dict (of all objects, only one of those may have attributes)");
  (void)as<PickleDict>(state, "a dict of attributes");
}

void PickleReader::put(uint32_t slot) { memo_[slot] = top(); }

void PickleReader::get(uint32_t slot) {
  const auto found = memo_.find(slot);
  if (found == memo_.end()) {
    throw PickleError(fmt::format("it refers to memo {}, which is not there", slot));
  }
  stack_.push_back(found->second);
}

bool PickleReader::step_scalar(Op op) {
  switch (op) {
    case Op::kNone:
      push(PickleNone{});
      return true;
    case Op::kNewTrue:
    case Op::kNewFalse:
      push(op == Op::kNewTrue);
      return true;
    case Op::kBinInt:
      push(int64_t{read<int32_t>()});
      return true;
    case Op::kBinInt1:
      push(int64_t{read<uint8_t>()});
      return true;
    case Op::kBinInt2:
      push(int64_t{read<uint16_t>()});
      return true;
    case Op::kLong1:
      push_long(read<uint8_t>());
      return true;
    case Op::kLong4:
      push_long(read<uint32_t>());
      return true;
    case Op::kBinFloat: {
      // The one number that is big-endian.
      uint64_t bits = read<uint64_t>();
      auto* bytes = reinterpret_cast<unsigned char*>(&bits);
      std::reverse(bytes, bytes + sizeof bits);
      push(std::bit_cast<double>(bits));
      return true;
    }
    case Op::kShortBinString:
    case Op::kShortBinUnicode:
      push(std::string(read_text(read<uint8_t>())));
      return true;
    case Op::kBinString:
    case Op::kBinUnicode:
      push(std::string(read_text(read<uint32_t>())));
      return true;
    case Op::kBinUnicode8:
      push(std::string(read_text(read<uint64_t>())));
      return true;
    default:
      return false;
  }
}

bool PickleReader::step_container(Op op) {
  switch (op) {
    case Op::kMark:
      marks_.push_back(stack_.size());
      return true;
    case Op::kPop:
      (void)pop();
      return true;
    case Op::kEmptyList:
      push(PickleList{});
      return true;
    case Op::kList:
      push(PickleList{pop_to_mark()});
      return true;
    case Op::kAppend:
      append({pop()});
      return true;
    case Op::kAppends:
      append(pop_to_mark());
      return true;
    case Op::kEmptyTuple:
      push(PickleTuple{});
      return true;
    case Op::kTuple:
      push(PickleTuple{pop_to_mark()});
      return true;
    case Op::kTuple1:
    case Op::kTuple2:
    case Op::kTuple3:
      push_tuple(static_cast<size_t>(op) - static_cast<size_t>(Op::kTuple1) + 1);
      return true;
    case Op::kEmptyDict:
      push(PickleDict{});
      return true;
    case Op::kDict: {
      const std::vector<Ref> values = pop_to_mark();
      push(PickleDict{});
      set_items(values);
      return true;
    }
    case Op::kSetItem: {
      const Ref value = pop(), key = pop();
      set_items({key, value});
      return true;
    }
    case Op::kSetItems:
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleReader::step_memo(Op op) {
  switch (op) {
    case Op::kBinPut:
      put(read<uint8_t>());
      return true;
    case Op::kLongBinPut:
      put(read<uint32_t>());
      return true;
    case Op::kMemoize:
      put(static_cast<uint32_t>(memo_.size()));
      return true;
    case Op::kBinGet:
      get(read<uint8_t>());
      return true;
    case Op::kLongBinGet:
      get(read<uint32_t>());
      return true;
    default:
      return false;
  }
}

bool PickleReader::step() {
  const auto op = static_cast<Op>(read<uint8_t>());
  if (step_scalar(op) || step_container(op) || step_memo(op)) return true;
  switch (op) {
    case Op::kProto:
      if (const auto protocol = read<uint8_t>(); protocol < 2 || protocol > kNewestProtocol) {
        throw PickleError(fmt::format("it is of pickle protocol {}", protocol));
      }
      return true;
    case Op::kFrame:
      (void)read<uint64_t>();
      return true;
    case Op::kGlobal: {
      const std::string_view module = read_line(), name = read_line();
      push_global(module, name);
      return true;
    }
    case Op::kStackGlobal: {
      const Ref name = pop(), module = pop();
      push_global(as<std::string>(module, "a module's name"), as<std::string>(name, "a name"));
      return true;
    }
    case Op::kReduce: {
      const Ref arguments = pop(), function = pop();
      push_result(host_.call(objects_, as<PickleGlobal>(function, "a class or function"),
                             as<PickleTuple>(arguments, "a tuple of arguments")));
      return true;
    }
    case Op::kBinPersId: {
      const Ref id = pop();
      push(host_.persistent(objects_, objects_[id]));
      return true;
    }
    case Op::kBuild:
      build();
      return true;
    case Op::kStop:
      return false;
    default:
      throw PickleError(fmt::format("it has the opcode 0x{:02x}, which is not used for checkpoints",
                                    uint8_t(op)));
  }
}

Ref PickleReader::run() {
  size_t begin = 0;
  try {
    if (pickle_.empty() || static_cast<Op>(pickle_[0]) != Op::kProto) {
      throw PickleError("it does not begin as a pickle of protocol 2 or later");
    }
    do begin = at_;
    while (step());
    if (!marks_.empty() || stack_.size() != 1) throw PickleError("it ends with parts left over");
    return stack_.front();
  } catch (const PickleError& e) {
    throw PickleError(fmt::format("{} at byte {}: {}", name_, begin, e.what()));
  }
}

}  // namespace ferry::io
