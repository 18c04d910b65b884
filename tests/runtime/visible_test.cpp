// SPDX-License-Identifier: Apache-2.0
//
// FERRY_VISIBLE_DEVICES: what it hides, how the rest is numbered, what it says
// when it cannot be honoured, and that hidden plugins are left alone.
#include <string>
#include <vector>

#include "child.h"

namespace ferry::test {
namespace {

constexpr const char* kUuids = "GPU-a1ff,GPU-a2ff,GPU-b1ff,GPU-b2ff";
constexpr const char* kPcis = "0000:41:00.0,0000:42:00.0,0001:41:00.0,0000:C1:00.1";
constexpr const char* kArchs = "one,two,one,two:x+";

class VisibleTest : public LoaderTest {
 protected:
  VisibleTest() {
    add("cpu");
    many_ = add("many");
    duo_ = add("duo");
  }

  static Variables with(const std::string& value) {
    return {{"FERRY_VISIBLE_DEVICES", value},
            {"FERRY_MANY_UUID", kUuids},
            {"FERRY_MANY_PCI", kPcis},
            {"FERRY_MANY_ARCH", kArchs}};
  }

  /// "cpu many:0=2 many:1=0": names of the devices and their plugins' numbers.
  std::string listing(const std::string& value) {
    std::string text;
    for (const Json& line : lines_of({"devices"}, with(value))) {
      const std::string name = line.at("device");
      text += text.empty() ? "" : " ";
      text += name;
      if (name != "cpu") text += "=" + std::to_string(line.at("plugin_index").get<int>());
      // The number is that of the hardware that answers.
      if (name.starts_with("many:")) {
        const int index = line.at("plugin_index");
        EXPECT_EQ(line.at("uuid"), std::string(kUuids).substr(static_cast<size_t>(index) * 9, 8));
      }
    }
    return text;
  }

  void expect_error(const std::string& value, const std::string& error, const std::string& marked,
                    const std::vector<std::string>& parts) {
    for (const Json& line : lines_of({"parse", "all"}, with(value))) {
      check_error(line, "FERRY_VISIBLE_DEVICES", value, error, marked, parts);
    }
  }

  /// The text: the reason's line, the whole value, and '^' under `marked` alone.
  static void check_error(const Json& line, const std::string& where, const std::string& value,
                          const std::string& error, const std::string& marked,
                          const std::vector<std::string>& parts) {
    EXPECT_EQ(line.value("error", ""), error) << value << ": " << line.dump();
    const std::string text = line.value("text", "");
    EXPECT_TRUE(text.starts_with("[" + where + "] ")) << text;
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
    }
    const size_t marks = text.rfind('\n');
    const size_t shown = marks == std::string::npos ? marks : text.rfind('\n', marks - 1);
    ASSERT_NE(shown, std::string::npos) << text;
    EXPECT_EQ(text.substr(shown + 1, marks - shown - 1), "  " + value);
    const std::string line_of_marks = text.substr(marks + 1);
    const size_t first = line_of_marks.find('^');
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_EQ(line_of_marks.find_first_not_of(' '), first);
    EXPECT_EQ(line_of_marks.find_first_not_of('^', first), std::string::npos);
    const size_t length = line_of_marks.size() - first;
    EXPECT_EQ(("  " + value + " ").substr(first, length), marked) << text;
  }

  std::string many_, duo_;
};

TEST_F(VisibleTest, KeepsWhatItNamesInItsOrder) {
  EXPECT_EQ(listing("many:2,0"), "cpu many:0=2 many:1=0");
  EXPECT_EQ(listing("many:3"), "cpu many:0=3");
  EXPECT_EQ(listing("many:1-3"), "cpu many:0=1 many:1=2 many:2=3");
  EXPECT_EQ(listing("many:3,0-1;duo2"), "cpu duo2:0=0 many:0=3 many:1=0 many:2=1");
  EXPECT_EQ(listing("many:3;many:0"), "cpu many:0=3 many:1=0");
  EXPECT_EQ(listing("lots:1"), "cpu many:0=1");
  EXPECT_EQ(listing("duo2"), "cpu duo2:0=0");
  EXPECT_EQ(listing("cpu"), "cpu");
  EXPECT_EQ(listing("cpu:0;many:2"), "cpu many:0=2");
}

TEST_F(VisibleTest, LeavesOutWhatItExcludes) {
  EXPECT_EQ(listing("!duo2"), "cpu many:0=0 many:1=1 many:2=2 many:3=3");
  EXPECT_EQ(listing("!many:1"), "cpu duo2:0=0 many:0=0 many:1=2 many:2=3");
  EXPECT_EQ(listing("!many:0-1;!duo2:0"), "cpu many:0=2 many:1=3");
  EXPECT_EQ(listing("!lots"), "cpu duo2:0=0");
  // In any order of the terms.
  EXPECT_EQ(listing("!many:1;many"), "cpu many:0=0 many:1=2 many:2=3");
  EXPECT_EQ(listing("all;!many:0,3"), "cpu duo2:0=0 many:0=1 many:1=2");
  EXPECT_EQ(listing("all"), "cpu duo2:0=0 many:0=0 many:1=1 many:2=2 many:3=3");
}

TEST_F(VisibleTest, NoneAndEmptyLeaveTheCpu) {
  EXPECT_EQ(listing("none"), "cpu");
  EXPECT_EQ(listing(""), "cpu");
  const auto lines = lines_of({"available", "cpu", "many", "gpu", "auto"}, with("none"));
  for (const size_t i : {0u, 3u}) EXPECT_EQ(lines[i].at("available"), true) << lines[i].dump();
  for (const size_t i : {1u, 2u}) EXPECT_EQ(lines[i].at("count"), 0) << lines[i].dump();
}

TEST_F(VisibleTest, FindsDevicesByWhatTheyTell) {
  EXPECT_EQ(listing("many:uuid=GPU-b1ff"), "cpu many:0=2");
  EXPECT_EQ(listing("many:uuid=gpu-B1"), "cpu many:0=2");
  EXPECT_EQ(listing("many:pci=0000:42:00.0,uuid=GPU-a1"), "cpu many:0=1 many:1=0");
  EXPECT_EQ(listing("many:pci=42:00.0"), "cpu many:0=1");
  EXPECT_EQ(listing("many:pci=00000000:c1:00.1"), "cpu many:0=3");
  EXPECT_EQ(listing("many:pci=0001:41:00.0"), "cpu many:0=2");
  EXPECT_EQ(listing("many:arch=ONE"), "cpu many:0=0 many:1=2");
  EXPECT_EQ(listing("many:arch=two:x+"), "cpu many:0=3");
  EXPECT_EQ(listing("!many:arch=one;!duo2"), "cpu many:0=1 many:1=3");
}

TEST_F(VisibleTest, RefusesOtherForms) {
  const std::string invalid = "InvalidArgument";
  expect_error(";", invalid, ";", {"a term is missing"});
  expect_error("many;;duo2", invalid, ";", {"a term is missing"});
  expect_error("many;", invalid, " ", {"a term is missing"});
  expect_error("many:0, 1", invalid, " ", {"no spaces"});
  expect_error(" many", invalid, " ", {"no spaces"});
  expect_error("many:", invalid, " ", {"missing after the ':'"});
  expect_error("many:0,,1", invalid, ",", {"missing"});
  expect_error("many:01", invalid, "01", {"leading zero"});
  expect_error("many:0,-1", invalid, "-1", {"sign"});
  expect_error("duo2;many:0,1gpu2,3", invalid, "1gpu2", {"'1gpu2' is no number", "0-3"});
  expect_error("many:2-", invalid, "2-", {"no index"});
  expect_error("many:3-1", invalid, "3-1", {"backwards", "1-3"});
  expect_error("many:GPU-b1ff", invalid, "GPU-b1ff", {"'GPU-b1ff' is no number", "uuid=", "pci="});
  expect_error("many:uid=4", invalid, "uid=4", {"uuid=, pci= or arch="});
  expect_error("many:uuid=", invalid, "uuid=", {"nothing after the '='"});
  expect_error("2,0", invalid, "2,0", {"needs its backend", "'acme:0,2'"});
  expect_error("duo2;Many:1", invalid, "Many", {"a-z"});
  expect_error("many,duo2", invalid, "many,duo2", {"between backends stands ';'"});
  expect_error("!", invalid, "!", {"no backend"});
  expect_error(":1", invalid, ":1", {"no backend"});
  expect_error("many;none", invalid, "none", {"stands alone"});
  expect_error("!none", invalid, "!none", {"stands alone"});
  expect_error("!all", invalid, "!all", {"'none'"});
  expect_error("all:0", invalid, "all:0", {"no index"});
  expect_error("gpu", invalid, "gpu", {"no backend"});
  expect_error("many;!cpu", invalid, "!cpu", {"always there"});
  expect_error("!cpu:0", invalid, "!cpu:0", {"always there"});
}

TEST_F(VisibleTest, RefusesWhatIsNotHere) {
  const std::string unavailable = "UnavailableError";
  expect_error("many:0,4", unavailable, "4",
               {"no device 'many:4'", "'many' has 4 devices", "many:3", "Devices here: cpu"});
  expect_error("many:2-9;duo2", unavailable, "2-9", {"'many:4'", "4 devices"});
  expect_error("many:0;duo2:0-99999999999999999999", unavailable, "0-99999999999999999999",
               {"'duo2' has 1 device."});
  expect_error("!many:7", unavailable, "7", {"4 devices"});
  expect_error("cpu:1", unavailable, "1", {"'cpu' has 1 device."});
  expect_error("duo2;manny:0", unavailable, "manny",
               {"did you mean 'many'?", "Devices here: cpu, duo2:0", "many"});
  expect_error("al", unavailable, "al", {"did you mean 'all'?"});
  expect_error("!manny", unavailable, "manny", {"did you mean 'many'?"});
  expect_error(
      "zebra", unavailable, "zebra",
      {"no plugin offers the backend 'zebra'", "hidden by FERRY_VISIBLE_DEVICES: duo2, many"});
  expect_error("many:uuid=GPU-c1", unavailable, "uuid=GPU-c1",
               {"no device of 'many' has this UUID", "GPU-a2ff (many:1)"});
  expect_error("duo2:pci=0000:41:00.0", unavailable, "pci=0000:41:00.0", {"they tell none"});
  expect_error("many:arch=three", unavailable, "arch=three", {"architecture", "two:x+ (many:3)"});
  expect_error("many:uuid=GPU-a", "InvalidArgument", "uuid=GPU-a",
               {"2 devices have this UUID: GPU-a1ff (many:0), GPU-a2ff (many:1); write more"});
}

TEST_F(VisibleTest, RefusesADeviceNamedTwice) {
  expect_error("many:0,0", "InvalidArgument", "0", {"many:0 is named twice"});
  expect_error("many:1;lots:0-2", "InvalidArgument", "0-2", {"many:1 is named twice"});
  expect_error("many;many:3", "InvalidArgument", "3", {"many:3 is named twice"});
  expect_error("many:0,uuid=GPU-a1ff", "InvalidArgument", "uuid=GPU-a1ff",
               {"many:0 is named twice"});
  expect_error("all;duo2", "InvalidArgument", "duo2", {"duo2:0 is named twice"});
}

TEST_F(VisibleTest, ShowsOddAndLongValuesSafely) {
  const auto text_of = [&](const std::string& value) {
    return lines_of({"device", "cpu"}, with(value)).at(0).value("text", "");
  };
  EXPECT_NE(text_of("many:\x1b[31m").find("\n  many:?[31m\n       ^^^^^"), std::string::npos)
      << text_of("many:\x1b[31m");
  EXPECT_NE(text_of("m\xc3\xa4ny").find("\n  m??ny\n  ^^^^^"), std::string::npos);
  std::string value;
  for (int i = 0; i < 500; ++i) value += "!many:0;";
  const std::string text = text_of(value + "wrong!;!many:1" + std::string(500, '1'));
  EXPECT_LT(text.size(), 900u);
  const size_t marks = text.rfind('\n'), shown = text.rfind('\n', marks - 1);
  const size_t column = text.find('^', marks) - marks;
  EXPECT_EQ(text.substr(shown + column, 6), "wrong!") << text;
}

TEST_F(VisibleTest, EveryQuestionThrowsTheSame) {
  for (const auto& [value, error] : std::vector<std::pair<std::string, std::string>>{
           {"many:9", "UnavailableError"}, {"many:x", "InvalidArgument"}}) {
    const auto lines = lines_of({"questions"}, with(value));
    ASSERT_EQ(lines.size(), 17u);
    for (size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(lines[i].value("error", ""), error) << lines[i].dump();
      EXPECT_EQ(lines[i].value("text", ""), lines[0].value("text", ""));
    }
    EXPECT_EQ(lines[16].at("lines"), 3);
  }
  for (const Json& line : lines_of({"questions"}, with("many:1"))) {
    EXPECT_FALSE(line.contains("error")) << line.dump();
  }
}

TEST_F(VisibleTest, TheReportSaysWhatIsHidden) {
  Json entry = entry_of(many_, with("many:0,2"));
  EXPECT_EQ(entry.at("code"), "F000");
  EXPECT_EQ(entry.at("devices"), 2);
  EXPECT_NE(entry.at("text").get<std::string>().find(
                "FERRY_VISIBLE_DEVICES='many:0,2' hides 2 more (its 1, 3)"),
            std::string::npos)
      << entry.dump();
  entry = entry_of(duo_, with("many:0,2"));
  EXPECT_EQ(entry.at("code"), "F500");
  EXPECT_EQ(entry.at("devices"), 0);
  EXPECT_EQ(entry.at("text"),
            "it was not started: FERRY_VISIBLE_DEVICES='many:0,2' does not name 'duo2'");
  EXPECT_EQ(entry.at("remedy"), "name 'duo2' in FERRY_VISIBLE_DEVICES, or unset that");
  entry = entry_of(duo_, with("none"));
  EXPECT_EQ(entry.at("code"), "F500");
  EXPECT_EQ(entry.at("text"), "it was not started: FERRY_VISIBLE_DEVICES='none' hides 'duo2'");
  entry = entry_of(duo_, with("!duo2"));
  EXPECT_EQ(entry.at("text"), "it was not started: FERRY_VISIBLE_DEVICES='!duo2' hides 'duo2'");
  entry = entry_of(many_, with("!many:0-3"));
  EXPECT_EQ(entry.at("code"), "F500");
  EXPECT_EQ(entry.at("text"), "FERRY_VISIBLE_DEVICES='!many:0-3' hides all of its 4 devices");
  entry = entry_of(duo_, with("!duo2:0"));
  EXPECT_EQ(entry.at("text"), "FERRY_VISIBLE_DEVICES='!duo2:0' hides the one of its 1 device");
  entry = entry_of(duo_, with("duo2:"));
  EXPECT_EQ(entry.at("code"), "F500");
  EXPECT_NE(entry.at("text").get<std::string>().find("cannot be read"), std::string::npos);
}

TEST_F(VisibleTest, AnAbsentDeviceSaysThatItIsHidden) {
  const auto text_of = [&](const std::string& name, const std::string& value) {
    const Json line = lines_of({"device", name}, with(value)).at(0);
    EXPECT_EQ(line.value("error", ""), "UnavailableError") << line.dump();
    return line.value("text", "");
  };
  EXPECT_NE(
      text_of("many:2", "many:0,2")
          .find("'many' has 2 devices, and 2 more are hidden by FERRY_VISIBLE_DEVICES. Devices "
                "here: cpu, many:0, many:1; hidden by FERRY_VISIBLE_DEVICES: duo2"),
      std::string::npos)
      << text_of("many:2", "many:0,2");
  for (const char* name : {"many:0", "lots", "gpu"}) {
    EXPECT_NE(text_of(name, "duo2;!duo2:0").find("F500"), std::string::npos)
        << text_of(name, "duo2;!duo2:0");
  }
}

/// What is hidden as a whole is not called: a driver that hangs or aborts is
/// got out of the way like that.
TEST_F(VisibleTest, DoesNotCallAHiddenPlugin) {
  add("aborts");
  EXPECT_GT(run({"devices"}, with("all")).status, 128);
  EXPECT_GT(run({"devices"}, with("rude")).status, 128);
  for (const char* value : {"!rude", "none", "", "many:0", "not a list"}) {
    EXPECT_EQ(run({"report"}, with(value)).status, 0) << value;
  }
  EXPECT_EQ(listing("!rude;!duo2;!many:0-2"), "cpu many:0=3");
}

TEST_F(VisibleTest, OpensTheDeviceThatItNames) {
  Variables variables = with("many:2,0");
  variables["FERRY_LOG"] = "info";
  const ChildResult result = run({"open", "many:0", "many:1"}, variables);
  EXPECT_EQ(result.status, 0) << result.err;
  const size_t opening = result.err.find("now opening");
  const size_t first = result.err.find("opens its device 2"),
               second = result.err.find("opens its device 0");
  // Listing and asking open nothing.
  ASSERT_NE(opening, std::string::npos);
  EXPECT_EQ(result.err.find("opens its device"), first);
  EXPECT_LT(opening, first);
  EXPECT_LT(first, second);
  EXPECT_NE(second, std::string::npos) << result.err;
}

TEST_F(VisibleTest, ExcludingWhatCannotWorkIsHonoured) {
  add("init_fails");
  EXPECT_EQ(listing("!acme;!duo2"), "cpu many:0=0 many:1=1 many:2=2 many:3=3");
  EXPECT_EQ(listing("!acme:1;!many:0-2"), "cpu duo2:0=0 many:0=3");
  expect_error("acme:1", "UnavailableError", "acme", {"F401", "the licence is on holiday"});
}

TEST_F(VisibleTest, TheDefaultDeviceUsesTheNewNumbers) {
  Variables variables = with("many:3");
  variables["FERRY_DEVICE"] = "many:0";
  EXPECT_EQ(lines_of({"default"}, variables).at(0).value("str", ""), "many:0");
  variables["FERRY_DEVICE"] = "many:3";
  const Json line = lines_of({"default"}, variables).at(0);
  EXPECT_NE(line.value("text", "").find("3 more are hidden"), std::string::npos) << line.dump();
}

TEST_F(VisibleTest, CanBeSetByACall) {
  auto lines = lines_of({"set_visible", "many:1,2"}, with("none"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[1].value("devices", 0), 3) << lines[1].dump();
  EXPECT_EQ(lines[2].value("error", ""), "InvalidArgument");
  EXPECT_NE(lines[2].value("text", "").find("too late"), std::string::npos);
  lines = lines_of({"set_visible", "many:x"});
  check_error(lines[0], "set_visible_devices", "many:x", "InvalidArgument", "x", {"no number"});
  EXPECT_EQ(lines[1].value("devices", 0), 6) << lines[1].dump();
  lines = lines_of({"set_visible", "many:8"});
  check_error(lines[1], "set_visible_devices", "many:8", "UnavailableError", "8", {"4 devices"});
}

TEST_F(VisibleTest, VendorsOwnVariablesAreNamed) {
  Variables variables = {
      {"FERRY_MANY_COUNT", "0"}, {"MANY_VISIBLE", "7"}, {"MANY_OUTER", std::nullopt}};
  Json entry = entry_of(many_, variables);
  EXPECT_EQ(entry.at("code"), "F403");
  EXPECT_EQ(entry.at("text"), "the plugin finds no device; MANY_VISIBLE='7' is set");
  variables["MANY_OUTER"] = "";
  entry = entry_of(many_, variables);
  EXPECT_EQ(entry.at("text"),
            "the plugin finds no device; MANY_VISIBLE='7' is set; MANY_OUTER='' is set");
  const std::string declines = add("probe_declines");
  entry = entry_of(declines, variables);
  EXPECT_EQ(entry.at("code"), "F400");
  EXPECT_NE(entry.at("text").get<std::string>().find("from 1999; MANY_VISIBLE='7' is set"),
            std::string::npos)
      << entry.dump();
  // Where some are left, the number that is too high is explained.
  variables["FERRY_MANY_COUNT"] = "2";
  const Json line = lines_of({"device", "many:2"}, variables).at(0);
  EXPECT_NE(line.value("text", "").find("'many' has 2 devices; MANY_VISIBLE='7' is set"),
            std::string::npos)
      << line.dump();
  EXPECT_EQ(entry_of(many_).at("text").get<std::string>().find("is set"), std::string::npos);
}

TEST_F(VisibleTest, AChangeThatComesTooLateIsWarnedOfOnce) {
  auto lines =
      lines_of({"change", "FERRY_VISIBLE_DEVICES=none", "FERRY_DEVICE=duo2"}, with("many"));
  ASSERT_EQ(lines.size(), 3u);
  const std::string device = lines[0].value("text", ""), visible = lines[1].value("text", "");
  EXPECT_NE(device.find("FERRY_DEVICE is 'duo2' now, but was unset"), std::string::npos) << device;
  EXPECT_NE(visible.find("FERRY_VISIBLE_DEVICES is 'none' now, but was 'many'"), std::string::npos)
      << visible;
  EXPECT_EQ(lines[2].at("before"), 5);
  EXPECT_EQ(lines[2].at("after"), 5);
  lines = lines_of({"change", "FERRY_PLUGIN_PATH=/elsewhere"});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].value("text", "").find("'/elsewhere'"), std::string::npos);
  EXPECT_EQ(lines_of({"change", "FERRY_VISIBLE_DEVICES=many"}, with("many")).size(), 1u);
}

}  // namespace
}  // namespace ferry::test
