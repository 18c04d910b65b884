// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of a file go.
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "ferry/error.h"
#include "ferry/io/load.h"
#include "ferry/log.h"
#include "ferry/memory.h"
#include "support.h"

namespace ferry::test {
namespace {

using Floats = std::vector<float>;

/// Collects what the plugin says of its devices while it is alive.
class Lines {
 public:
  Lines() {
    set_log_callback([this](LogLevel, std::string_view component, std::string_view text) {
      const std::lock_guard lock(mutex_);
      if (component == "acme" && text.ends_with(" opened")) text_ += std::string(text) + "\n";
    });
  }
  ~Lines() { set_log_callback({}); }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

TEST(MapLocationTest, TagsThatAreAbsentAreListedWithWhatToPass) {
  EXPECT_REFUSED(UnavailableError, load(fixture("tags.pt")), "'cuda:0', 'cuda:3'",
                 "Devices here: cpu, ", "acme:1", "load(path, Device(\"cpu\"))");
}

TEST(MapLocationTest, EverythingToTheCpuOpensNoAccelerator) {
  Lines lines;
  for (const char* name : {"tags.pt", "acme_tags.pt"}) {
    const io::Value file = load(fixture(name), Device());
    EXPECT_EQ(file.at("on_0").as_tensor().to_vector<float>(), (Floats{3, 4}));
    EXPECT_TRUE(file.at("on_3").as_tensor().device().is_cpu());
    EXPECT_TRUE(file.at("view_of_0").as_tensor().shares_storage(file.at("on_0")));
  }
  EXPECT_EQ(lines.text(), "");
}

TEST(MapLocationTest, WithoutAMapEachTagIsItsDevice) {
  const io::Value file = load(fixture("acme_tags.pt"));
  EXPECT_TRUE(file.at("on_cpu").as_tensor().device().is_cpu());
  EXPECT_EQ(file.at("on_0").as_tensor().device(), Device("acme:0"));
  EXPECT_EQ(file.at("on_3").as_tensor().device(), Device("acme:1"));
  EXPECT_TRUE(file.at("view_of_0").as_tensor().shares_storage(file.at("on_0")));
  EXPECT_EQ(file.at("view_of_0").as_tensor().item<float>(), 4);
  EXPECT_EQ(file.at("optimizer").at("state").at(0).at("momentum").as_tensor().device(),
            Device("acme:0"));
}

TEST(MapLocationTest, OneDeviceForAll) {
  const io::Value file = load(fixture("tags.pt"), "acme:1");
  for (const char* name : {"on_cpu", "on_0", "on_3"}) {
    EXPECT_EQ(file.at(name).as_tensor().device(), Device("acme:1"));
  }
  EXPECT_EQ(file.at("optimizer").at("state").at(0).at("momentum").as_tensor().item<float>(), 5);
}

TEST(MapLocationTest, OneDeviceForAllOpensThatOneAlone) {
  Lines lines;
  (void)load(fixture("tags.pt"), "acme:2");
  EXPECT_EQ(lines.text(), "acme:2 opened\n");
}

TEST(MapLocationTest, ATableMovesItsTagsAndLeavesOthers) {
  const io::Value file = load(fixture("tags.pt"), {{"cuda", "acme:1"}, {"cuda:3", "cpu"}});
  EXPECT_EQ(file.at("on_0").as_tensor().device(), Device("acme:1"));
  EXPECT_TRUE(file.at("on_3").as_tensor().device().is_cpu());
  EXPECT_TRUE(file.at("on_cpu").as_tensor().device().is_cpu());
  EXPECT_REFUSED(UnavailableError, load(fixture("tags.pt"), {{"cuda:3", "cpu"}}), "'cuda:0'. ");
}

TEST(MapLocationTest, AFunctionIsAskedOnceATagAndMaySayNothing) {
  std::vector<std::string> asked;
  const auto choose = [&](const std::string& tag) -> std::optional<Device> {
    asked.push_back(tag);
    if (tag == "acme:1") return Device("cpu");
    return std::nullopt;
  };
  const io::Value file = load(fixture("acme_tags.pt"), choose);
  EXPECT_EQ(asked, (std::vector<std::string>{"cpu", "acme:0", "acme:1"}));
  EXPECT_EQ(file.at("on_0").as_tensor().device(), Device("acme:0"));
  EXPECT_TRUE(file.at("on_3").as_tensor().device().is_cpu());
  EXPECT_REFUSED(UnavailableError, load(fixture("tags.pt"), choose), "'cuda:0', 'cuda:3'");
}

TEST(MapLocationTest, ADeviceThatDoesNotExistIsNamedWithTheCount) {
  EXPECT_REFUSED(UnavailableError, load(fixture("tags.pt"), {{"cuda:0", "acme:9"}}), "acme:9",
                 "3 devices");
}

class OntoADevice : public FileTest {};

TEST_F(OntoADevice, OutOfMemoryLeavesNothingBehind) {
  StateDict state;
  for (const char* name : {"a", "b", "c"}) {
    state.set(name, tensor(std::vector<float>(8 << 10, 1.0f), {8 << 10}));
  }
  save(state, path("x.safetensors"));
  const Device small("acme:0");
  const uint64_t before = memory_allocated(small);
  EXPECT_THROW((void)load(path("x.safetensors"), small), OutOfMemoryError);
  EXPECT_EQ(memory_allocated(small), before);
  // The device is as useful as it was.
  EXPECT_EQ(load(fixture("plain.pt"), small).at("count").as_tensor().to_vector<int64_t>(),
            (std::vector<int64_t>{7, -1}));
  EXPECT_EQ(memory_allocated(small), before);
}

/// The most memory that the process had since the last call, in KiB, without
/// the part that it shares with others; 0 where that cannot be known.
uint64_t peak_kib() {
  std::ifstream status("/proc/self/status");
  uint64_t peak = 0;
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") status >> peak;
  }
  std::ofstream reset("/proc/self/clear_refs");
  reset << "5" << std::flush;
  return reset ? peak : 0;
}

TEST_F(OntoADevice, TheHostHoldsOneTensorAtATime) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers use memory of their own";
#endif
  constexpr int64_t kElements = 2 << 20;  // 8 MiB
  constexpr int kTensors = 16;
  {
    StateDict state;
    for (int i = 0; i < kTensors; ++i) {
      state.set("t" + std::to_string(i), tensor(std::vector<float>(kElements, 1.0f), {kElements}));
    }
    save(state, path("x.safetensors"));
  }
  empty_cache();
  const Device device("acme:2");
  (void)load(fixture("plain.pt"), device);  // opens it
  if (peak_kib() == 0) GTEST_SKIP() << "this kernel does not tell";
  const uint64_t before = peak_kib();
  const io::Value file = load(path("x.safetensors"), device);
  const uint64_t after = peak_kib();
  EXPECT_EQ(file.size(), size_t{kTensors});
  EXPECT_LT(after, before + 20 * 1024) << "the file has 128 MiB";
  EXPECT_GE(memory_allocated(device), uint64_t{kTensors} * kElements * 4);
}

}  // namespace
}  // namespace ferry::test
