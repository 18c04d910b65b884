// SPDX-License-Identifier: Apache-2.0
//
// safetensors files: written and read again, and refused when they lie.
#include <csignal>
#include <cstring>

#include <sys/resource.h>
#include <sys/stat.h>

#include "ferry/error.h"
#include "ferry/io/load.h"
#include "support.h"

namespace ferry::test {
namespace {

using Floats = std::vector<float>;
using Metadata = std::map<std::string, std::string>;

class SafeTensors : public FileTest {
 protected:
  /// A file with this header and `data` bytes after it.
  std::string with_header(std::string_view header, size_t data) const {
    const uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    return file("x.safetensors", bytes + std::string(header) + std::string(data, '\0'));
  }
  std::string folder_listing() const {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names += entry.path().filename().string() + " ";
    }
    return names;
  }
};

TEST_F(SafeTensors, WhatIsSavedLoads) {
  StateDict state = load(fixture("dtypes.pt"));
  save_safetensors(state, path("x.safetensors"), {{"format", "pt"}, {"note", "ä\"\n"}});
  const StateDict back = load(path("x.safetensors"));
  ASSERT_EQ(back.size(), state.size());
  auto before = state.begin();
  for (const auto& [name, tensor] : back) {
    EXPECT_EQ(name, before->first);
    EXPECT_EQ(tensor.dtype(), before->second.dtype()) << name;
    EXPECT_EQ(tensor.shape(), before->second.shape()) << name;
    std::string a(tensor.nbytes(), 'a'), b(tensor.nbytes(), 'b');
    tensor.copy_to_host(a.data(), tensor.dtype());
    before->second.copy_to_host(b.data(), tensor.dtype());
    EXPECT_EQ(a, b) << name;
    ++before;
  }
  EXPECT_EQ(io::read_metadata(path("x.safetensors")),
            (Metadata{{"format", "pt"}, {"note", "ä\"\n"}}));
}

TEST_F(SafeTensors, TheBytesAreThoseOfTheFormat) {
  save({{"b", tensor<uint8_t>({7})}, {"a", tensor<float>({1, 2})}}, path("x.safetensors"));
  const std::string bytes = read_file(path("x.safetensors"));
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  ASSERT_EQ((8 + length) % 8, 0u);
  std::string header = bytes.substr(8, length);
  header.erase(header.find_last_not_of(' ') + 1);
  // In the order of the dict; the data by width, so that all is aligned.
  EXPECT_EQ(header, R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]},)"
                    R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})");
  EXPECT_EQ(bytes.substr(8 + length), std::string("\0\0\x80?\0\0\0@\7", 9));
}

TEST_F(SafeTensors, TiedWeightsAreStoredOnceAndTiedAgain) {
  const Tensor w = tensor(Floats(1000, 1.0f), {10, 100});
  save({{"embedding", w}, {"head", w.view({10, 100})}, {"other", w.view({100, 10})}},
       path("x.safetensors"));
  EXPECT_LT(std::filesystem::file_size(path("x.safetensors")), 8000u + 500u);
  const StateDict back = load(path("x.safetensors"));
  EXPECT_EQ(back.size(), 3u);
  EXPECT_TRUE(back.at("head").shares_storage(back.at("embedding")));
  EXPECT_EQ(back.at("head").shape(), (Shape{10, 100}));
  EXPECT_FALSE(back.at("other").shares_storage(back.at("embedding")));
  EXPECT_EQ(io::read_metadata(path("x.safetensors")),
            (Metadata{{"ferry.alias.head", "embedding"}}));
}

TEST_F(SafeTensors, ViewsAreStoredByThemselvesAndContiguous) {
  const Tensor base = tensor(Floats(100000, 1.0f), {100000});
  const Tensor matrix = tensor(Floats{0, 1, 2, 3, 4, 5}, {2, 3});
  save({{"slice", base.narrow(0, 0, 10)}, {"t", matrix.t()}}, path("x.safetensors"));
  EXPECT_LT(std::filesystem::file_size(path("x.safetensors")), 1000u);
  const StateDict back = load(path("x.safetensors"));
  EXPECT_EQ(back.at("t").to_vector<float>(), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(back.at("t").is_contiguous());
}

TEST_F(SafeTensors, FromAndToADevice) {
  const Device device("acme:0");
  save({{"w", tensor<float>({1, 2, 3}, device)}}, path("x.safetensors"));
  const Tensor w = load(path("x.safetensors"), device).at("w");
  EXPECT_EQ(w.device(), device);
  EXPECT_EQ(w.to_vector<float>(), (Floats{1, 2, 3}));
}

TEST_F(SafeTensors, TheContentDecidesNotTheName) {
  save_safetensors({{"w", tensor<float>({1})}}, path("x.pt"));
  EXPECT_EQ(load(path("x.pt")).at("w").as_tensor().item<float>(), 1);
  const std::string torch = file("y.safetensors", read_file(fixture("plain.pt")));
  EXPECT_EQ(load(torch).size(), 2u);
}

TEST_F(SafeTensors, NothingAtAllIsAFileToo) {
  save({}, path("x.safetensors"));
  EXPECT_EQ(load(path("x.safetensors")).size(), 0u);
}

TEST_F(SafeTensors, AHeaderOfAHundredMegabytesIsRead) {
  std::string header = R"({"__metadata__":{"note":")";
  header += std::string(126 << 20, 'x');
  header += R"("},"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  EXPECT_EQ(load(with_header(header, 1)).size(), 1u);
}

TEST_F(SafeTensors, TheWriterRefusesWhatReadersRefuse) {
  const Tensor w = tensor<float>({1});
  EXPECT_REFUSED(InvalidArgument, save({{std::string(100 << 20, 'x'), w}}, path("x")), "100000000");
  EXPECT_REFUSED(InvalidArgument, save({{"\xff", w}}, path("x")), "UTF-8");
  EXPECT_REFUSED(InvalidArgument, save({{"__metadata__", w}}, path("x")), "__metadata__");
  EXPECT_REFUSED(InvalidArgument, save({{"w", Tensor()}}, path("x")), "'w'", "undefined");
  EXPECT_REFUSED(InvalidArgument, save_safetensors({}, path("x"), {{"ferry.alias.a", "b"}}),
                 "ferry.alias.");
  EXPECT_EQ(folder_listing(), "");
}

TEST_F(SafeTensors, AFailedWriteLeavesTheOldFileAndNothingElse) {
  save({{"w", tensor<float>({1})}}, path("x.safetensors"));
  const StateDict large{{"w", tensor(Floats(100000, 2.0f), {100000})}};
  // The kernel's own limit stands for a full disk.
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{4096, old.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_REFUSED(FileError, save(large, path("x.safetensors")), "x.safetensors", "too large");
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(folder_listing(), "x.safetensors ");
  EXPECT_EQ(load(path("x.safetensors")).at("w").as_tensor().item<float>(), 1);
  EXPECT_REFUSED(FileError, save(large, path("absent/x")), "absent/x", "No such file");
  EXPECT_REFUSED(FileError, save(large, folder_.string()), "no regular file");
}

TEST_F(SafeTensors, PermissionsAreThoseOfAnyNewFile) {
  const mode_t mask = umask(0027);
  save({}, path("x"));
  struct stat info {};
  stat(path("x").c_str(), &info);
  EXPECT_EQ(info.st_mode & 07777, mode_t{0640});
  umask(mask);
  // A link stays one.
  std::filesystem::create_symlink("x", path("link"));
  save({{"w", tensor<float>({1})}}, path("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(load(path("x")).size(), 1u);
}

TEST_F(SafeTensors, HeadersThatLie) {
  struct Case {
    const char* header;
    size_t data;
    const char* text;
  };
  for (const Case& c : {
           Case{R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7, "incomplete"},
           Case{R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9, "1 bytes follow"},
           Case{R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "cannot be"},
           Case{R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "cannot be"},
           Case{R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0,
                "cannot be"},
           Case{R"({"w":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,0]}})", 0,
                "64 bits"},
           Case{R"({"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", 0, "negative"},
           Case{R"({"w":{"dtype":"U8","shape":[1.5],"data_offsets":[0,0]}})", 0, "no integer"},
           Case{R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "hole"},
           Case{R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                3, "overlap"},
           Case{R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                2, "'w' comes twice"},
           Case{R"({"w":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", 1, "'F8_E4M3'"},
           Case{R"({"w":{"dtype":"U8","shape":[1]}})", 1, "lacks"},
           Case{R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "not two"},
           Case{R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1, "number"},
           Case{R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1, "field 'x'"},
           Case{R"({"w":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1,
                "dimensions"},
           Case{R"({"w":[]})", 0, "a list"},
           Case{R"({"w":null})", 0, "null"},
           Case{R"({"__metadata__":{"a":1}})", 0, "'a'"},
           Case{R"({"__metadata__":{"a":"1","a":"2"}})", 0, "twice"},
           Case{R"({"__metadata__":{"ferry.alias.a":"b"}})", 0, "no tensor of that name"},
           Case{R"({"w":)", 0, "no JSON"},
           Case{"{\"w\xff\":{}}", 0, "no JSON"},
       }) {
    EXPECT_REFUSED(FileError, load(with_header(c.header, c.data)), c.text, "x.safetensors");
  }
  std::string deep = R"({"w":)";
  deep += std::string(100000, '[');
  EXPECT_REFUSED(FileError, load(with_header(deep, 0)), "a list");
}

TEST_F(SafeTensors, LengthsThatLie) {
  for (const uint64_t length :
       {uint64_t{1} << 63, UINT64_MAX, uint64_t{100}, uint64_t{10}, uint64_t{2}, uint64_t{0}}) {
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    const std::string path = file("x.safetensors", bytes + "{}");
    if (length == 2)
      EXPECT_EQ(load(path).size(), 0u);
    else
      EXPECT_REFUSED(FileError, load(path), "x.safetensors' (10 bytes)", "safetensors");
  }
}

}  // namespace
}  // namespace ferry::test
