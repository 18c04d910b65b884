// SPDX-License-Identifier: Apache-2.0
//
// Pickles that want more than tensors, and archives whose numbers do not fit.
#include "ferry/error.h"
#include "ferry/io/load.h"
#include "support.h"

namespace ferry::test {
namespace {

class TorchRefusal : public FileTest {
 protected:
  /// Loads an archive with this pickle and a storage '0' of eight bytes.
  io::Value load_pickle(const std::string& pickle) {
    write_archive(path("x.pt"), {{"x/data.pkl", pickle},
                                 {"x/data/0", std::string("\0\0\x80?\0\0\0@", 8)},
                                 {"x/version", "3\n"}});
    return load(path("x.pt"));
  }
};

Pickle two_floats() { return Pickle().storage("FloatStorage", "0", "cpu", 2); }

TEST_F(TorchRefusal, TheHandMadeFormIsRight) {
  const Tensor t = load_pickle(Pickle().tensor(two_floats(), 0, {2}, {1}).done());
  EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{1, 2}));
  const Tensor storage = load_pickle(two_floats().done());
  EXPECT_EQ(storage.to_vector<float>(), (std::vector<float>{1, 2}));
}

TEST_F(TorchRefusal, CodeIsNeverRun) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  EXPECT_REFUSED(FileError, load(fixture("evil_system.pt")), "'system'", "'posix'");
  EXPECT_REFUSED(FileError, load(fixture("evil_getattr.pt")), "'getattr'", "'__builtin__'");
  EXPECT_REFUSED(FileError, load(fixture("evil_options.pt")), "'Namespace'", "'argparse'");
  EXPECT_REFUSED(FileError, load(fixture("evil_optimizer.pt")), "'Stranger'", "'__main__'");
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "a command was run";
  std::filesystem::current_path(before);
}

TEST_F(TorchRefusal, WhatFerryDoesNotHaveIsNamed) {
  EXPECT_REFUSED(FileError, load(fixture("complex.pt")), "ComplexFloatStorage");
  EXPECT_REFUSED(FileError, load(fixture("quantised.pt")), "_rebuild_qtensor", "quantised");
  EXPECT_REFUSED(FileError, load(fixture("sparse.pt")), "sparse");
  EXPECT_REFUSED(FileError, load(fixture("whole_module.pt")), "'Linear'", "state_dict()");
  EXPECT_REFUSED(FileError, load(fixture("torchscript.pt")), "TorchScript", "state_dict()");
  EXPECT_REFUSED(FileError, load(fixture("no_pickle.zip")), "no data.pkl", "'readme.txt'");
}

TEST_F(TorchRefusal, ItemsAreSetOnDictsOnly) {
  for (const char* target : {"]", ")", "U\x01x", "N", "K\x05"}) {
    EXPECT_REFUSED(FileError, load_pickle(Pickle().op(target).op("(K\1K\2u").done()), "a dict");
    EXPECT_REFUSED(FileError, load_pickle(Pickle().op(target).op("K\1K\2s").done()), "a dict");
    EXPECT_REFUSED(FileError, load_pickle(Pickle().op(target).op("}b").done()), "a dict");
  }
  for (const char* target : {"}", ")", "U\x01x", "N"}) {
    EXPECT_REFUSED(FileError, load_pickle(Pickle().op(target).op("K\1a").done()), "a list");
  }
  EXPECT_REFUSED(FileError, load_pickle(Pickle().op("}(K\1u").done()), "no value");
  EXPECT_REFUSED(FileError, load_pickle(Pickle().op("}]K\1s").done()), "as a key");
}

TEST_F(TorchRefusal, CountsMustFitTheRecord) {
  for (const int64_t count :
       {INT64_C(1000000), INT64_C(1), INT64_C(0), INT64_C(-2), INT64_C(0x4000000000000002)}) {
    const Pickle storage = Pickle().storage("FloatStorage", "0", "cpu", count);
    EXPECT_REFUSED(FileError, load_pickle(storage.done()), "storage '0'");
  }
  EXPECT_REFUSED(FileError, load_pickle(Pickle().storage("FloatStorage", "7", "cpu", 2).done()),
                 "'7'", "no record");
  EXPECT_REFUSED(FileError,
                 load_pickle(Pickle().storage("FloatStorage", "../version", "cpu", 2).done()),
                 "no record");
}

TEST_F(TorchRefusal, ViewsLieInsideTheirStorage) {
  struct Case {
    int64_t offset;
    std::vector<int64_t> shape, strides;
    const char* text;
  };
  const int64_t huge = INT64_MAX;
  for (const Case& c :
       {Case{0, {3}, {1}, "outside"}, Case{1, {2}, {1}, "outside"}, Case{0, {2}, {2}, "outside"},
        Case{2, {}, {}, "outside"}, Case{3, {0}, {1}, "outside"}, Case{-1, {1}, {1}, "before"},
        Case{0, {-1}, {1}, "-1"}, Case{0, {2}, {-1}, "-1"}, Case{0, {2, 2}, {1}, "stride"},
        Case{huge, {1}, {1}, "outside"}, Case{0, {2}, {huge}, "stride"},
        Case{0, {huge, huge, huge}, {0, 0, 0}, "64 bits"},
        Case{0, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "dimensions"}}) {
    EXPECT_REFUSED(FileError,
                   load_pickle(Pickle().tensor(two_floats(), c.offset, c.shape, c.strides).done()),
                   c.text);
  }
}

TEST_F(TorchRefusal, OneStorageHasOneDTypeAndDevice) {
  const auto pair = [](const Pickle& a, const Pickle& b) {
    return Pickle().tensor(a, 0, {1}, {1}).tensor(b, 0, {1}, {1}).op("\x86").done();
  };
  EXPECT_NO_THROW((void)load_pickle(pair(two_floats(), two_floats())));
  EXPECT_REFUSED(FileError,
                 load_pickle(pair(two_floats(), Pickle().storage("LongStorage", "0", "cpu", 1))),
                 "twice");
  EXPECT_REFUSED(
      FileError,
      load_pickle(pair(two_floats(), Pickle().storage("FloatStorage", "0", "acme:0", 2))), "twice");
}

TEST_F(TorchRefusal, DepthMemoAndCyclesAreBounded) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += ']';
  for (int i = 1; i < 100000; ++i) deep += 'a';
  EXPECT_REFUSED(FileError, load_pickle(Pickle().op(deep).done()), "deeper");
  EXPECT_REFUSED(FileError, load_pickle(Pickle().op(std::string("j\0\0\0\x80", 5)).done()),
                 "memo 2147483648");
  EXPECT_REFUSED(FileError, load_pickle(Pickle().op("]q").op(std::string("\0h\0a", 4)).done()),
                 "contains itself");
  EXPECT_NO_THROW((void)load_pickle(Pickle().op(std::string("]r\xff\xff\xff\xff", 6)).done()));
}

TEST_F(TorchRefusal, CallsThatCopyTheirArgumentsAreBounded) {
  // A large dict and many calls of Counter on it, which each return a copy.
  Pickle pickle;
  pickle.op("](").global("collections", "Counter").op("q").op(std::string("\0", 1)).op("}(");
  for (int i = 0; i < 1000; ++i) pickle.integer(i).op("K\1");
  pickle.op("u\x85q\1");
  for (int i = 0; i < 100000; ++i) pickle.op(std::string("h\0h\1R", 5));
  EXPECT_REFUSED(FileError, load_pickle(pickle.op("e").done()), "endlessly");
}

TEST_F(TorchRefusal, SharedPartsDoNotMultiply) {
  // Each list holds the one before twice: 2^100 leaves, a hundred lists.
  Pickle pickle;
  pickle.op("]q").op(std::string("\0", 1));
  for (int i = 0; i < 100; ++i) {
    pickle.op("](h").op(std::string(1, static_cast<char>(i)));
    pickle.op("h").op(std::string(1, static_cast<char>(i)));
    pickle.op("eq").op(std::string(1, static_cast<char>(i + 1)));
  }
  // Only the last list may be left on the stack.
  std::string text = pickle.done();
  text.insert(text.size() - 1, "\x85");
  text.insert(2, "(");
  text.replace(text.size() - 2, 1, "t");
  const io::Value value = load_pickle(text);
  EXPECT_EQ(value.size(), 101u);
  EXPECT_LT(value.str().size(), size_t{1} << 20);
}

TEST_F(TorchRefusal, BrokenOpcodes) {
  for (const char* ops : {"", "(", "a", "t", "R", "Q", "b", "h\x09", "K\1K\2", "X\xff\xff\xff\xff",
                          "\x8a\x09"
                          "123456789",
                          "i", "\xff", "(K\1", "0", "\x93"}) {
    EXPECT_REFUSED(FileError, load_pickle(Pickle().op(ops).done()), "data.pkl at byte");
  }
  EXPECT_REFUSED(FileError, load_pickle(""), "does not begin");
  EXPECT_REFUSED(FileError, load_pickle("\x80\x09N."), "protocol 9");
  EXPECT_REFUSED(FileError, load_pickle("\x80\x02N"), "ends too early");
}

TEST_F(TorchRefusal, CallsTakeTheirOwnArgumentsOnly) {
  const auto call = [](const Pickle& arguments, std::string_view module, std::string_view name) {
    std::string text = arguments.done();
    return Pickle().global(module, name).op(text.substr(2, text.size() - 3)).op("R").done();
  };
  EXPECT_REFUSED(FileError, load_pickle(call(Pickle().op(")"), "torch._utils", "_rebuild_tensor")),
                 "too few");
  EXPECT_REFUSED(FileError, load_pickle(call(Pickle().op("]"), "torch._utils", "_rebuild_tensor")),
                 "a tuple");
  EXPECT_REFUSED(FileError, load_pickle(call(Pickle().op(")"), "torch", "FloatStorage")),
                 "no function");
  EXPECT_REFUSED(FileError, load_pickle(call(Pickle().op("K\1\x85"), "torch", "Size")), "a tuple");
  EXPECT_REFUSED(FileError,
                 load_pickle(call(Pickle().op("K\1\x85"), "torch._utils", "_rebuild_parameter")),
                 "a tensor");
  EXPECT_REFUSED(FileError, load_pickle(call(Pickle().op("K\1\x85"), "collections", "OrderedDict")),
                 "an int");
}

TEST_F(TorchRefusal, RecordsOfOneNameOrWithAWrongChecksum) {
  const std::string pickle = Pickle().tensor(two_floats(), 0, {2}, {1}).done();
  write_archive(path("x.pt"), {{"x/data.pkl", pickle},
                               {"x/data/0", std::string(8, '\1')},
                               {"x/data/0", std::string(8, '\2')}});
  EXPECT_REFUSED(FileError, load(path("x.pt")), "two of that name");

  (void)load_pickle(pickle);
  std::string bytes = read_file(path("x.pt"));
  bytes[bytes.find(std::string("\0\0\x80?\0\0\0@", 8))] = '\1';
  EXPECT_REFUSED(FileError, load(file("y.pt", bytes)), "'x/data/0'", "checksum");
}

}  // namespace
}  // namespace ferry::test
