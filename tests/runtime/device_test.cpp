// SPDX-License-Identifier: Apache-2.0
//
// The grammar of device names, the choice of "gpu" and "auto", FERRY_DEVICE,
// and what is said when a device is absent.
#include <string>
#include <vector>

#include "child.h"

namespace ferry::test {
namespace {

class DeviceTest : public LoaderTest {
 protected:
  /// What `list_devices device TEXT` says.
  Json parse(const std::string& text) { return lines_of({"device", text}).at(0); }

  void expect_device(const std::string& text, const std::string& str) {
    const Json line = parse(text);
    EXPECT_EQ(line.value("str", ""), str) << text << ": " << line.dump();
    EXPECT_TRUE(line.value("parses_back", false)) << line.dump();
  }
  void expect_error(const Json& line, const std::string& error,
                    const std::vector<std::string>& parts) {
    EXPECT_EQ(line.value("error", ""), error) << line.dump();
    for (const std::string& part : parts) {
      EXPECT_NE(line.value("text", "").find(part), std::string::npos)
          << "no '" << part << "' in: " << line.dump();
    }
  }
};

TEST_F(DeviceTest, ParsesNamesAndPrintsThemBack) {
  add("cpu");
  add("acme");
  add("duo");
  expect_device("cpu", "cpu");
  expect_device("cpu:0", "cpu");
  expect_device("acme", "acme:0");
  expect_device("acme:1", "acme:1");
  expect_device("duo2:0", "duo2:0");
  expect_device("apex:1", "acme:1");
  const Json line = lines_of({"pair", "acme", "1"}).at(0);
  EXPECT_EQ(line.value("str", ""), "acme:1");
  EXPECT_EQ(line.value("type", ""), "acme");
  EXPECT_EQ(line.value("index", 0), 1);
}

TEST_F(DeviceTest, RefusesOtherForms) {
  add("cpu");
  add("acme");
  struct Case {
    const char* text;
    const char* part;
  };
  for (const Case& c : std::vector<Case>{{"", "empty"},
                                         {"acme:01", "leading zero"},
                                         {"acme:00", "leading zero"},
                                         {"acme:-1", "sign"},
                                         {"acme:+1", "sign"},
                                         {"acme:", "no index"},
                                         {"acme: 0", "space"},
                                         {"acme:0 ", "space"},
                                         {" acme", "space"},
                                         {"ACME", "a-z"},
                                         {"ac-me", "a-z"},
                                         {"2acme", "a-z"},
                                         {":0", "no backend"},
                                         {":", "no backend"},
                                         {"acme:x", "'x' is no number"},
                                         {"acme:1:2", "no number"},
                                         {"acme:0x1", "no number"},
                                         {"gpu:0", "takes none"},
                                         {"auto:1", "takes none"},
                                         {"meta", "reserved"}}) {
    const Json line = parse(c.text);
    expect_error(line, "InvalidArgument", {"[Device]", c.part, "'" + std::string(c.text) + "'"});
  }
  expect_error(lines_of({"pair", "acme", "-1"}).at(0), "InvalidArgument", {"sign"});
  expect_error(lines_of({"pair", "acme:0", "1"}).at(0), "InvalidArgument", {"acme:0:1"});
}

TEST_F(DeviceTest, SaysWhichIndicesExist) {
  add("cpu");
  add("acme");
  expect_error(parse("cpu:1"), "UnavailableError", {"'cpu:1'", "1 device.", "cpu, acme:0, acme:1"});
  expect_error(parse("acme:2"), "UnavailableError", {"'acme:2'", "2 devices", "acme:1"});
  expect_error(parse("acme:99999"), "UnavailableError", {"acme:99999"});
  expect_error(parse("acme:18446744073709551616"), "UnavailableError", {"2 devices"});
}

TEST_F(DeviceTest, SaysWhatExistsAndTheNearestName) {
  add("cpu");
  add("acme");
  expect_error(parse("acne:0"), "UnavailableError",
               {"'acne:0'", "did you mean 'acme'?", "cpu, acme:0, acme:1", folder_.string()});
  expect_error(parse("zebra"), "UnavailableError", {"FERRY_PLUGIN_PATH", "cpu, acme:0"});
}

TEST_F(DeviceTest, SaysWhyABackendIsAbsent) {
  add("cpu");
  const std::string bad = add("init_fails", "b.so");
  const std::string cut = add_text("ferry_zebra.so", "no library");
  expect_error(parse("acme:0"), "UnavailableError",
               {bad, "F401", "the licence is on holiday", "a quiet room", "Devices here: cpu"});
  // A file that could not be read is known by its name.
  expect_error(parse("zebra"), "UnavailableError", {cut, "F202"});
}

TEST_F(DeviceTest, ACpuPluginIsAPluginToo) {
  add("acme");
  expect_error(parse("cpu"), "UnavailableError", {"'cpu:0'", "acme:0"});
  expect_error(parse("cpu:1"), "UnavailableError", {"'cpu:1'"});
  const auto available = lines_of({"available", "cpu"});
  EXPECT_EQ(available[0].at("available"), false);
  EXPECT_EQ(lines_of({"devices"}).at(0).at("device"), "acme:0");
}

TEST_F(DeviceTest, GpuIsTheBestAccelerator) {
  add("cpu");
  expect_error(parse("gpu"), "UnavailableError", {"no accelerator", "Devices here: cpu"});
  expect_device("auto", "cpu");
  add("other");
  expect_device("auto", "cpu");
  add("acme");
  // Its second device has the higher priority.
  expect_device("gpu", "acme:1");
  expect_device("auto", "acme:1");
  add("discrete");
  // Its first device is integrated, its second discrete.
  expect_device("gpu", "discrete:1");
}

TEST_F(DeviceTest, GpuSaysWhyThereIsNone) {
  add("cpu");
  add("no_devices_words");
  expect_error(parse("gpu"), "UnavailableError", {"F403", "no card in the slot"});
}

TEST_F(DeviceTest, CountsWithoutThrowing) {
  add("cpu");
  add("acme");
  const auto lines =
      lines_of({"available", "cpu", "acme", "apex", "gpu", "auto", "nosuch", "", "a:b", "ACME"});
  const std::vector<int> counts = {1, 2, 2, 2, 0, 0, 0, 0, 0};
  const std::vector<bool> available = {true, true, true, true, true, false, false, false, false};
  ASSERT_EQ(lines.size(), counts.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("count"), counts[i]) << lines[i].dump();
    EXPECT_EQ(lines[i].at("available"), available[i]) << lines[i].dump();
  }
}

TEST_F(DeviceTest, DefaultDeviceFollowsTheVariable) {
  add("cpu");
  add("acme");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "cpu"},           {"cpu", "cpu"},
      {"acme:1", "acme:1"},  {"nosuch,acme:1", "acme:1"},
      {"acme:7,cpu", "cpu"}, {"apex,cpu", "acme:0"},
      {"auto", "acme:1"},    {"gpu", "acme:1"}};
  for (const auto& [value, expected] : cases) {
    const auto lines = lines_of({"default"}, {{"FERRY_DEVICE", value}});
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].value("str", ""), expected) << value << ": " << lines[0].dump();
    // Read once: what the program sets later is not seen.
    EXPECT_EQ(lines[1].value("str", ""), expected) << value;
  }
}

TEST_F(DeviceTest, DefaultDeviceRefusesWhatItCannotHonour) {
  add("cpu");
  add("acme");
  const auto run_default = [&](const std::string& value) {
    return lines_of({"default"}, {{"FERRY_DEVICE", value}}).at(0);
  };
  // A wrong form is an error even behind a device that is here.
  for (const char* value : {"acme:01", "cpu,acme:-1", "acme:0, cpu", "acme,,cpu", ",", "ACME"}) {
    expect_error(run_default(value), "InvalidArgument", {"[FERRY_DEVICE]"});
  }
  expect_error(run_default("cpu,acme:-1"), "InvalidArgument", {"'acme:-1'"});
  expect_error(run_default("nosuch"), "UnavailableError", {"[FERRY_DEVICE]", "'nosuch'"});
  expect_error(run_default("acme:9,nosuch"), "UnavailableError",
               {"[FERRY_DEVICE]", "none of 'acme:9,nosuch'", "2 devices", "'nosuch"});
}

TEST_F(DeviceTest, PropertiesSayWhereADeviceComesFrom) {
  add("cpu");
  const std::string path = add("acme");
  const auto devices = lines_of({"devices"});
  ASSERT_EQ(devices.size(), 3u);
  // The CPU first, though its plugin's name is the later one.
  EXPECT_EQ(devices[0].at("device"), "cpu");
  EXPECT_EQ(devices[2].at("device"), "acme:1");
  EXPECT_EQ(devices[2].at("plugin_file"), path);
  EXPECT_EQ(devices[2].at("arch"), "paper");
  EXPECT_EQ(devices[2].at("total_memory"), 1u << 20);
}

}  // namespace
}  // namespace ferry::test
