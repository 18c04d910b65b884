// SPDX-License-Identifier: Apache-2.0
//
// What the checkpoint tests share: files, archives and pickles made by hand.
#ifndef FERRY_TESTS_IO_SUPPORT_H
#define FERRY_TESTS_IO_SUPPORT_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ferry::test {

/// A file that PyTorch wrote, under tests/io/fixtures.
std::string fixture(const std::string& name);

std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view contents);

/// A test with a folder of its own.
class FileTest : public ::testing::Test {
 protected:
  FileTest();
  ~FileTest() override;
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  /// Writes a file into the folder and returns its path.
  std::string file(const std::string& name, std::string_view contents) const;

  std::filesystem::path folder_;
};

/// Records of a zip archive, in order.
using Records = std::vector<std::pair<std::string, std::string>>;
void write_archive(const std::string& path, const Records& records);

/// Builds a pickle of protocol 2, opcode by opcode.
class Pickle {
 public:
  Pickle& op(std::string_view bytes) { return text_ += bytes, *this; }
  Pickle& integer(int64_t value);
  Pickle& text(std::string_view value);
  Pickle& global(std::string_view module, std::string_view name);
  /// A tuple of integers.
  Pickle& integers(const std::vector<int64_t>& values);
  Pickle& storage(std::string_view type, std::string_view key, std::string_view tag, int64_t count);
  /// A tensor over the storage that `storage` built.
  Pickle& tensor(const Pickle& storage, int64_t offset, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>& strides);
  /// Everything so far as one value.
  std::string done() const { return "\x80\x02" + text_ + "."; }

 private:
  std::string text_;
};

/// Expects that `statement` throws `type` with every text after it in what().
#define EXPECT_REFUSED(type, statement, ...)                                     \
  do {                                                                           \
    try {                                                                        \
      (void)(statement);                                                         \
      ADD_FAILURE() << #statement " threw nothing";                              \
    } catch (const type& e) {                                                    \
      for (const std::string& part : std::vector<std::string>{__VA_ARGS__}) {    \
        EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos) \
            << "without '" << part << "': " << e.what();                         \
      }                                                                          \
    }                                                                            \
  } while (false)

}  // namespace ferry::test

#endif  // FERRY_TESTS_IO_SUPPORT_H
