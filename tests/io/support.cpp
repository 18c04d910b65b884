// SPDX-License-Identifier: Apache-2.0
//
// Files, archives and pickles made by hand; and the plugin of the tests.
#include "support.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <zip.h>

#include "ferry/device.h"

namespace ferry::test {
namespace {

class Plugins : public ::testing::Environment {
 public:
  void SetUp() override { add_plugin_path(ACME_PLUGIN); }
};
const auto* const plugins = ::testing::AddGlobalTestEnvironment(new Plugins());

}  // namespace

std::string fixture(const std::string& name) { return std::string(FIXTURES "/") + name; }

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) ADD_FAILURE() << path << " cannot be opened";
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_file(const std::string& path, std::string_view contents) {
  std::ofstream out(path, std::ios::binary);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (!out.flush()) ADD_FAILURE() << path << " cannot be written";
}

FileTest::FileTest() {
  std::string name = (std::filesystem::temp_directory_path() / "ferry-io-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
  folder_ = name;
}
FileTest::~FileTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string FileTest::file(const std::string& name, std::string_view contents) const {
  write_file(path(name), contents);
  return path(name);
}

void write_archive(const std::string& path, const Records& records) {
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  ASSERT_NE(zip, nullptr);
  for (const auto& [name, contents] : records) {
    const zip_fileinfo info{};
    ASSERT_EQ(zipOpenNewFileInZip(zip, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, 0, 0),
              ZIP_OK);
    ASSERT_EQ(zipWriteInFileInZip(zip, contents.data(), static_cast<unsigned>(contents.size())),
              ZIP_OK);
    ASSERT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  }
  ASSERT_EQ(zipClose(zip, nullptr), ZIP_OK);
}

namespace {

template <class T>
std::string little(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

Pickle& Pickle::integer(int64_t value) { return op("\x8a\x08" + little(value)); }
Pickle& Pickle::text(std::string_view value) {
  return op("X" + little(static_cast<uint32_t>(value.size()))).op(value);
}
Pickle& Pickle::global(std::string_view module, std::string_view name) {
  return op("c").op(module).op("\n").op(name).op("\n");
}
Pickle& Pickle::integers(const std::vector<int64_t>& values) {
  op("(");
  for (const int64_t value : values) integer(value);
  return op("t");
}
Pickle& Pickle::storage(std::string_view type, std::string_view key, std::string_view tag,
                        int64_t count) {
  return op("(").text("storage").global("torch", type).text(key).text(tag).integer(count).op("tQ");
}
Pickle& Pickle::tensor(const Pickle& storage, int64_t offset, const std::vector<int64_t>& shape,
                       const std::vector<int64_t>& strides) {
  global("torch._utils", "_rebuild_tensor_v2").op("(").op(storage.text_).integer(offset);
  integers(shape).integers(strides).op("\x89");
  return global("collections", "OrderedDict").op(")RtR");
}

}  // namespace ferry::test
