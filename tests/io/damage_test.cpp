// SPDX-License-Identifier: Apache-2.0
//
// Damaged files: cut anywhere, with bits turned, or something else entirely.
// Built twice: with FUZZ_ROUNDS for every run, and with many more.
#include <random>

#include "ferry/error.h"
#include "ferry/io/load.h"
#include "support.h"

namespace ferry::test {
namespace {

class Damage : public FileTest {
 protected:
  /// Files of both kinds, whole.
  std::vector<std::string> samples() {
    std::vector<std::string> out;
    for (const char* name :
         {"plain.pt", "dtypes.pt", "training.pt", "views.pt", "tied.pt", "deflated.pt",
          "big_endian.pt", "plain_protocol4.pt", "before_1_6.pt"}) {
      out.push_back(read_file(fixture(name)));
    }
    const StateDict tied = load(fixture("tied.pt"));
    save_safetensors(tied, path("tied.safetensors"), {{"note", "x"}});
    out.push_back(read_file(path("tied.safetensors")));
    return out;
  }
  /// Whether it loads. Anything but a FileError is a failure.
  bool loads(const std::string& bytes) {
    try {
      (void)load(file("damaged", bytes), Device()).str();
      return true;
    } catch (const FileError&) {
      return false;
    }
  }
};

#ifndef FUZZ_ONLY

TEST_F(Damage, AFileCutAnywhereIsRefused) {
  for (const std::string& whole : samples()) {
    ASSERT_TRUE(loads(whole));
    for (size_t size = 0; size < whole.size(); ++size) {
      ASSERT_FALSE(loads(whole.substr(0, size))) << size << " of " << whole.size() << " bytes";
    }
  }
}

TEST_F(Damage, ACutFileAsksWhetherTheDownloadIsComplete) {
  for (const std::string& whole : samples()) {
    for (const size_t size : {whole.size() / 10, whole.size() * 99 / 100, whole.size() - 10}) {
      const std::string path = file("damaged", whole.substr(0, size));
      EXPECT_REFUSED(FileError, load(path), path, std::to_string(size) + " bytes",
                     "download incomplete?");
    }
  }
}

TEST_F(Damage, OtherFilesAreNamed) {
  struct Case {
    std::string contents;
    const char* text;
  };
  for (const Case& c : {
           Case{"", "is empty; download incomplete?"},
           Case{"<!DOCTYPE html>\n<html><body>Sign in</body></html>", "an HTML page"},
           Case{"\n  <HTML lang=\"en\">", "an HTML page"},
           Case{"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
                "a Git LFS pointer"},
           Case{std::string(5000, '\0'), "zeros"},
           Case{"{\"weight\": [1, 2]}", "a JSON text"},
           Case{"hello", "a text that begins 'hello'"},
           Case{"\x1f\x8b\x08", "gzip"},
           Case{"\x89HDF\r\n\x1a\n", "HDF5"},
           Case{"\x93NUMPY\x01", "NumPy"},
           Case{"\x80\x04N.", "a bare Python pickle"},
           Case{"\x80", "the byte"},
           Case{"\x80\x02", "a bare Python pickle"},
           Case{"P", "a text that begins 'P'"},
           Case{"\x01\x02\x03", "the bytes 01 02 03"},
       }) {
    const std::string path = file("x.pt", c.contents);
    EXPECT_REFUSED(FileError, load(path), c.text, "x.pt");
  }
  EXPECT_REFUSED(FileError, load(folder_.string()), "is a directory");
  EXPECT_REFUSED(FileError, load(path("absent.pt")), "absent.pt", "No such file");
  EXPECT_REFUSED(FileError, load("/dev/null"), "/dev/null", "no regular file");
  EXPECT_REFUSED(FileError, io::read_metadata(fixture("plain.pt")), "no safetensors file");
}

#endif  // FUZZ_ONLY

TEST_F(Damage, TurnedBitsAreRefusedOrHarmless) {
  std::mt19937 random(20240229);
  const auto below = [&](size_t n) { return random() % n; };
  const std::vector<std::string> whole = samples();
  size_t refused = 0;
  for (int round = 0; round < FUZZ_ROUNDS; ++round) {
    std::string bytes = whole[below(whole.size())];
    for (size_t flips = 1 + below(3); flips > 0; --flips) {
      char& byte = bytes[below(bytes.size())];
      if (below(4) == 0)
        byte = static_cast<char>(random());
      else
        byte = static_cast<char>(byte ^ (1 << below(8)));
    }
    if (below(8) == 0) bytes.erase(below(bytes.size()), 1 + below(64));
    refused += loads(bytes) ? 0 : 1;
  }
  EXPECT_GT(refused, size_t{FUZZ_ROUNDS} / 4);
}

/// The pickle alone, in an archive that is right.
TEST_F(Damage, TurnedBitsInThePickle) {
  std::mt19937 random(19980401);
  const auto below = [&](size_t n) { return random() % n; };
  const auto storage = [](const char* key) {
    return Pickle().storage("FloatStorage", key, "cpu", 2);
  };
  const std::string whole = Pickle()
                                .op("}(")
                                .text("a")
                                .tensor(storage("0"), 0, {2}, {1})
                                .text("b")
                                .tensor(storage("1"), 1, {1, 1}, {2, 1})
                                .text("list")
                                .op("](K\1G?\xf8\0\0\0\0\0\0NeK\5\x86")
                                .op("u")
                                .done();
  size_t loaded = 0;
  for (int round = 0; round < FUZZ_ROUNDS; ++round) {
    std::string pickle = whole;
    for (size_t flips = 1 + below(2); flips > 0; --flips) {
      pickle[below(pickle.size())] = static_cast<char>(random());
    }
    write_archive(path("x.pt"), {{"x/data.pkl", pickle},
                                 {"x/data/0", std::string(8, '\1')},
                                 {"x/data/1", std::string(8, '\2')}});
    try {
      (void)load(path("x.pt"), Device()).str();
      ++loaded;
    } catch (const FileError&) {
    }
  }
  EXPECT_LT(loaded, size_t{FUZZ_ROUNDS});
}

}  // namespace
}  // namespace ferry::test
