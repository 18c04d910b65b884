// SPDX-License-Identifier: Apache-2.0
//
// Data sets and arrays in files, whole and damaged.
#include "ferry/data/files.h"

#include <filesystem>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "ferry/error.h"

namespace ferry::data {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("ferry-data-" + std::to_string(getpid()) + "-" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::string folder() const { return folder_; }

 private:
  fs::path folder_;
};

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const FileError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::string record(std::initializer_list<int> labels, char first) {
  std::string out;
  for (const int l : labels) out += static_cast<char>(l);
  out += std::string(3072, 'x');
  out[labels.size()] = first;
  return out;
}

TEST_F(Files, ReadsCifar) {
  for (int i = 1; i <= 5; ++i)
    write("data_batch_" + std::to_string(i) + ".bin",
          record({i}, static_cast<char>(i)) + record({9 - i}, '9'));
  const auto set = cifar10(folder());
  EXPECT_EQ(set->data().shape(), (Shape{10, 3, 32, 32}));
  EXPECT_EQ(set->target().to_vector<int64_t>(),
            (std::vector<int64_t>{1, 8, 2, 7, 3, 6, 4, 5, 5, 4}));
  EXPECT_EQ(set->get(4, Generator()).data.select(0, 0).select(0, 0).select(0, 0).item<int>(), 3);
  write("test.bin", record({255, 99}, 'a'));
  EXPECT_EQ(cifar100(folder(), false)->target().to_vector<int64_t>(), (std::vector<int64_t>{99}));
}

TEST_F(Files, NamesTheDamagedRecordOfCifar) {
  write("test_batch.bin", record({1}, 'a') + record({10}, 'b'));
  const auto read = [&] { cifar10(folder(), false); };
  EXPECT_NE(error_of(read).find("record 1 of"), std::string::npos) << error_of(read);
  write("test_batch.bin", record({1}, 'a') + "short");
  EXPECT_NE(error_of(read).find("record 1 is cut off"), std::string::npos) << error_of(read);
  write("test_batch.bin", "");
  EXPECT_THROW(read(), FileError);
  EXPECT_THROW(cifar10(folder(), true), FileError);
}

TEST_F(Files, ReadsMnistAndIdx) {
  using namespace std::string_literals;
  write("t10k-images-idx3-ubyte", "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02"s + "abcd");
  const auto labels = [&](const std::string& tail) {
    write("t10k-labels-idx1-ubyte", "\0\0\x08\x01\0\0\0\x02"s + tail);
  };
  labels("\x07\0"s);
  const auto set = mnist(folder(), false);
  EXPECT_EQ(set->data().shape(), (Shape{2, 1, 1, 2}));
  EXPECT_EQ(set->get(1, Generator()).data.to_vector<uint8_t>(), (std::vector<uint8_t>{'c', 'd'}));
  EXPECT_EQ(set->target().to_vector<int64_t>(), (std::vector<int64_t>{7, 0}));
  labels("\x07\x0a");
  const std::string text = error_of([&] { mnist(folder(), false); });
  EXPECT_NE(text.find("record 1 of"), std::string::npos) << text;
  const std::string ints = write("ints", "\0\0\x0C\x01\0\0\0\x01\0\0\x01\x02"s);
  EXPECT_EQ(read_idx(ints).to_vector<int32_t>(), (std::vector<int32_t>{258}));
}

TEST_F(Files, RefusesDamagedIdx) {
  using namespace std::string_literals;
  for (const std::string& bytes :
       {""s, "\0\0\x08"s, "\0\x01\x08\x01"s, "\0\0\x07\x01\0\0\0\x01z"s, "\0\0\x08\x02\0\0\0\x01"s,
        "\0\0\x08\x01\0\0\0\x03zz"s, "\0\0\x08\x01\0\0\0\x01zz"s, "\x1f\x8b\x08\0"s,
        "\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffz"s,
        "\0\0\x0E\x08"s + std::string(32, '\xff'), "\0\0\x08\x09"s + std::string(36, '\0')}) {
    const std::string path = write("bad", bytes);
    EXPECT_THROW(read_idx(path), FileError) << bytes.size();
  }
  EXPECT_THROW(read_idx(folder()), FileError);
}

std::string fixture(const char* name) { return std::string(FIXTURES "/") + name + ".npy"; }

TEST_F(Files, ReadsNumpysArrays) {
  EXPECT_EQ(read_npy(fixture("f4")).to_vector<float>(),
            (std::vector<float>{0, 0.25F, 0.5F, 0.75F, 1, 1.25F}));
  const Tensor fortran = read_npy(fixture("fortran"));
  EXPECT_EQ(fortran.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(fortran.to_vector<int64_t>(), arange(0, 24).to_vector<int64_t>());
  EXPECT_EQ(read_npy(fixture("big")).to_vector<int32_t>(), (std::vector<int32_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(read_npy(fixture("bool")).dtype(), kBool);
  EXPECT_EQ(read_npy(fixture("scalar")).shape(), Shape{});
  EXPECT_EQ(read_npy(fixture("scalar")).item<double>(), 2.5);
  EXPECT_EQ(read_npy(fixture("empty")).shape(), (Shape{0, 3}));
}

TEST_F(Files, RefusesOtherArraysAndDamage) {
  EXPECT_THROW(read_npy(fixture("complex")), FileError);
  EXPECT_THROW(read_npy(fixture("object")), FileError);
  std::ifstream file(fixture("f4"), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), {});
  for (size_t length = 0; length < good.size(); ++length) {
    const std::string path = write("cut.npy", good.substr(0, length));
    EXPECT_THROW(read_npy(path), FileError) << length;
  }
  // Any byte of the head may be anything: an error or an array, nothing else.
  for (size_t at = 0; at < good.size() - 24; ++at) {
    for (const char c : {'\0', '\xff', '9', '(', '\'', ' '}) {
      std::string bad = good;
      bad[at] = c;
      const std::string path = write("bad.npy", bad);
      try {
        EXPECT_LE(read_npy(path).numel(), 24);
      } catch (const FileError&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace ferry::data
