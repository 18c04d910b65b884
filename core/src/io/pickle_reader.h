// SPDX-License-Identifier: Apache-2.0
//
// PickleReader: a reader of the pickles that PyTorch writes. It can build plain
// containers and numbers; everything else is the host's to build or to refuse.
#ifndef FERRY_IO_PICKLE_READER_H
#define FERRY_IO_PICKLE_READER_H

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/pickle_objects.h"
#include "io/text.h"

namespace ferry::io {

/// Why a pickle is refused. Never leaves io/: a FileError is made of it.
class PickleError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What the names in a pickle mean. All of these throw PickleError to refuse.
class PickleHost {
 public:
  virtual ~PickleHost() = default;
  /// An imported name.
  virtual PickleObject import_global(std::string_view module, std::string_view name) = 0;
  /// A global called with arguments.
  virtual PickleObject call(const PickleObjects& objects, PickleGlobal global,
                            const PickleTuple& arguments) = 0;
  /// An object that stands outside of the pickle.
  virtual PickleObject persistent(const PickleObjects& objects, const PickleObject& id) = 0;
};

/// Runs a pickle once. No recursion; memory is bounded by a small multiple of
/// the pickle's size.
class PickleReader {
 public:
  /// `name` is what messages call it. The pickle may end before the bytes do.
  PickleReader(Bytes pickle, PickleHost& host, std::string name = "data.pkl")
      : pickle_(pickle), host_(host), name_(std::move(name)) {}

  /// The number of the pickle's object. Throws PickleError for anything but a
  /// whole pickle of known opcodes, each used on what it is for.
  Ref run();
  const PickleObjects& objects() const noexcept { return objects_; }
  PickleObjects take_objects() noexcept { return std::move(objects_); }
  /// Bytes that were read.
  size_t size() const noexcept { return at_; }

 private:
  enum class Op : uint8_t;

  bool step();
  bool step_container(Op op);
  bool step_scalar(Op op);
  bool step_memo(Op op);

  template <class T>
  T read();
  std::string_view read_text(uint64_t size);
  std::string_view read_line();
  void push(PickleObject object);
  void push_result(PickleObject object);
  Ref pop();
  Ref top() const;
  /// The entries above the last mark, which goes with them.
  std::vector<Ref> pop_to_mark();
  template <class T>
  const T& as(Ref ref, const char* wanted) const;
  void append(std::vector<Ref> values);
  void set_items(const std::vector<Ref>& keys_and_values);
  void push_tuple(size_t count);
  void push_global(std::string_view module, std::string_view name);
  void push_long(uint64_t size);
  void build();
  void put(uint32_t slot);
  void get(uint32_t slot);

  Bytes pickle_;
  PickleHost& host_;
  std::string name_;
  size_t at_ = 0;
  uint64_t copied_ = 0;  ///< by the host's results
  PickleObjects objects_;
  std::vector<Ref> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint32_t, Ref> memo_;
};

}  // namespace ferry::io

#endif  // FERRY_IO_PICKLE_READER_H
