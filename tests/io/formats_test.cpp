// SPDX-License-Identifier: Apache-2.0
//
// Files of every form that PyTorch has written, against what torch.load() gave
// for them (fixtures/formats/expected.txt): every bit, stride and sharing.
#include <map>
#include <set>
#include <sstream>

#include "ferry/error.h"
#include "ferry/io/load.h"
#include "support.h"

namespace ferry::test {
namespace {

using io::Value;

uint64_t fingerprint(const Tensor& tensor) {
  std::vector<unsigned char> bytes(tensor.nbytes());
  if (!bytes.empty()) tensor.copy_to_host(bytes.data(), tensor.dtype());
  uint64_t value = 0xcbf29ce484222325;
  for (const unsigned char byte : bytes) value = (value ^ byte) * 0x100000001b3;
  return value;
}

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  }
  return out;
}

/// Writes what make_format_fixtures.py writes.
class Describer {
 public:
  void add(const Value& value, const std::string& path) {
    if (value.is_tensor()) return add_tensor(value, path);
    std::ostringstream line;
    line << path << '\t';
    if (value.is_dict() || value.is_list() || value.is_tuple()) {
      line << value.kind_name() << '\t' << value.size();
      lines.push_back(line.str());
      return add_entries(value, path);
    }
    if (value.is_string())
      line << "string\t" << escape(value.as_string());
    else
      line << "value\t" << value.str();
    lines.push_back(line.str());
  }

  std::vector<std::string> lines;

 private:
  void add_entries(const Value& value, const std::string& path) {
    size_t i = 0;
    if (value.is_dict()) {
      for (const auto& [key, entry] : value.items()) {
        const std::string place = path + "/" + std::to_string(i++);
        lines.push_back(place + "\tkey\t" +
                        escape(key.is_int() ? std::to_string(key.as_int()) : key.as_string()));
        add(entry, place);
      }
      return;
    }
    for (const Value& entry : value) add(entry, path + "/" + std::to_string(i++));
  }

  void add_tensor(const Tensor& t, const std::string& path) {
    int64_t group = -1;
    if (t.numel() > 0) {
      group = 0;
      for (const Tensor& first : storages_) {
        if (first.shares_storage(t)) break;
        ++group;
      }
      if (group == static_cast<int64_t>(storages_.size())) storages_.push_back(t);
    }
    char hash[20];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(fingerprint(t)));
    std::ostringstream line;
    line << path << "\ttensor\t" << name(t.dtype()) << '\t' << to_string(t.shape()) << '\t'
         << (t.numel() > 0 ? to_string(t.strides()) : "-") << '\t'
         << (t.numel() > 0 ? t.storage_offset() : 0) << '\t' << group << '\t' << hash;
    lines.push_back(line.str());
  }

  std::vector<Tensor> storages_;
};

/// The lines of each file.
std::map<std::string, std::vector<std::string>> expectations() {
  std::map<std::string, std::vector<std::string>> out;
  std::istringstream text(read_file(fixture("formats/expected.txt")));
  std::string line, name;
  while (std::getline(text, line)) {
    if (line.starts_with("file "))
      name = line.substr(5);
    else
      out[name].push_back(line);
  }
  return out;
}

using Formats = FileTest;

TEST_F(Formats, SeventyFilesOfPyTorchLoadEqualToTheBit) {
  const auto all = expectations();
  EXPECT_GE(all.size(), 70u);
  for (const auto& [name, lines] : all) {
    for (const bool mmap : {false, true}) {
      Describer loaded;
      ReadOptions options;
      options.mmap = mmap;
      loaded.add(load(fixture("formats/" + name + ".pt"), options), "");
      EXPECT_EQ(loaded.lines, lines) << name << (mmap ? ", mapped" : "");
    }
  }
}

TEST_F(Formats, TheyLoadOntoADeviceAndKeepTheirSharingThere) {
  for (const auto& [name, lines] : expectations()) {
    // The device is a small one.
    if (std::filesystem::file_size(fixture("formats/" + name + ".pt")) > 60000) continue;
    Describer loaded;
    loaded.add(load(fixture("formats/" + name + ".pt"), "acme:1"), "");
    EXPECT_EQ(loaded.lines, lines) << name;
  }
}

TEST_F(Formats, WhatIsWrittenAgainIsTheSame) {
  for (const auto& [name, lines] : expectations()) {
    save_torch(load(fixture("formats/" + name + ".pt")), path("again.pt"));
    Describer loaded;
    loaded.add(load(path("again.pt")), "");
    EXPECT_EQ(loaded.lines, lines) << name;
  }
}

// CK-11: in this form nothing says in which order a big-endian machine wrote.
TEST_F(Formats, CK11OldFilesOfBigEndianMachinesAreRefused) {
  std::string bytes = read_file(fixture("formats/old_float32.pt"));
  const size_t at = bytes.find("little_endian");
  ASSERT_NE(at, std::string::npos);
  const size_t flag = bytes.find('\x88', at);
  ASSERT_LT(flag, at + 20);
  bytes[flag] = '\x89';
  EXPECT_REFUSED(FileError, load(file("x.pt", bytes)), "big-endian machine", "save it again");
}

TEST_F(Formats, OldFilesWithNumbersThatDoNotFit) {
  const std::string whole = read_file(fixture("formats/old_only_tensor.pt"));
  ASSERT_EQ(load(file("x.pt", whole)).as_tensor().numel(), 5);
  // The number of elements stands before the last 20 bytes.
  for (const char value : {'\0', '\4', '\6', '\x7f'}) {
    std::string bytes = whole;
    bytes[bytes.size() - 28] = value;
    EXPECT_REFUSED(FileError, load(file("x.pt", bytes)), "5 elements", "stored with");
  }
  EXPECT_REFUSED(FileError, load(file("x.pt", whole.substr(0, whole.size() - 1))),
                 "download incomplete?");
  EXPECT_REFUSED(FileError, load(file("x.pt", whole.substr(0, whole.size() - 25))),
                 "download incomplete?");
}

TEST_F(Formats, TarArchivesThatAreDamagedOrNotOfPyTorch) {
  const std::string whole = read_file(fixture("formats/tar_views.pt"));
  std::string bytes = whole;
  bytes[3] = 'X';  // in a member's name
  EXPECT_REFUSED(FileError, load(file("x.pt", bytes)), "tar archive", "byte 0", "damaged");
  EXPECT_REFUSED(FileError, load(file("x.pt", whole.substr(0, 1000))), "tar archive",
                 "download incomplete?");
  const size_t storages = whole.find("storages");
  bytes = whole;
  bytes.erase(storages, bytes.size() - storages);
  bytes += std::string(1024, '\0');
  EXPECT_REFUSED(FileError, load(file("x.pt", bytes)), "none of PyTorch", "'storages'");
}

TEST_F(Formats, PartsOfStoragesInTarArchivesShareTheirMemory) {
  const Value file = load(fixture("formats/tar_parts.pt"));
  const Tensor a = file.at(0), b = file.at(1);
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{1, 4, 7}));
  a.fill_(0);
  EXPECT_EQ(b.to_vector<float>(), (std::vector<float>{1, 0, 0}));
}

TEST_F(Formats, MappedTensorsAreTheFileAndWritingDoesNotReachIt) {
  const std::string source = read_file(fixture("written/views.pt"));
  const std::string copy = file("x.pt", source);
  ReadOptions options;
  options.mmap = true;
  Tensor kept;
  {
    const StateDict state = load(copy, options);
    kept = state.at("grid");
    kept.fill_(7);
    EXPECT_EQ(state.at("turned").to_vector<float>()[5], 7.0f) << "views share the mapping";
  }
  EXPECT_EQ(kept.to_vector<float>()[11], 7.0f) << "a tensor keeps the mapping";
  EXPECT_EQ(read_file(copy), source);
  std::filesystem::remove(copy);
  EXPECT_EQ(kept.to_vector<float>()[0], 7.0f);
}

TEST_F(Formats, ProgressIsToldAndMayStopTheLoading) {
  save_torch({{"a", zeros({5 << 20})}, {"b", zeros({100})}}, path("x.pt"));
  for (const char* device : {"cpu", "acme:2"}) {
    std::vector<uint64_t> done;
    ReadOptions options{.map = device};
    options.progress = [&](const LoadProgress& progress) {
      EXPECT_EQ(progress.total, (uint64_t{5} << 22) + 400);
      done.push_back(progress.done);
    };
    (void)load(path("x.pt"), options);
    ASSERT_GE(done.size(), 4u);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_EQ(done.back(), (uint64_t{5} << 22) + 400);
    options.progress = [](const LoadProgress&) { throw std::runtime_error("enough"); };
    EXPECT_THROW((void)load(path("x.pt"), options), std::runtime_error);
  }
}

}  // namespace
}  // namespace ferry::test
