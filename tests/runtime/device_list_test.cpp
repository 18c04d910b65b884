// SPDX-License-Identifier: Apache-2.0
//
// parse_devices(), and hardware that two backends offer.
#include <string>
#include <vector>

#include "child.h"

namespace ferry::test {
namespace {

using Names = std::vector<std::string>;

class DeviceListTest : public LoaderTest {
 protected:
  DeviceListTest() {
    add("cpu");
    add("many");
    add("duo");
  }
  Json parse(const std::string& text, const Variables& variables = {}) {
    return lines_of({"parse", text}, variables).at(0);
  }
  void expect_list(const std::string& text, const Names& names, const Variables& variables = {}) {
    const Json line = parse(text, variables);
    EXPECT_EQ(line.value("devices", Names{"?"}), names) << text << ": " << line.dump();
  }
};

TEST_F(DeviceListTest, KeepsTheOrderOfTheList) {
  expect_list("many:2,0;duo2", {"many:2", "many:0", "duo2:0"});
  expect_list("duo2;cpu;lots:1-2", {"duo2:0", "cpu", "many:1", "many:2"});
  expect_list("all", {"cpu", "duo2:0", "many:0", "many:1", "many:2", "many:3"});
  expect_list("!many", {"cpu", "duo2:0"});
  expect_list("!cpu;!many:1-3", {"duo2:0", "many:0"});
  expect_list("none", {});
  expect_list("", {});
}

TEST_F(DeviceListTest, CountsWhatIsVisible) {
  expect_list("many", {"many:0", "many:1"}, {{"FERRY_VISIBLE_DEVICES", "many:1,3"}});
  expect_list("!duo2", {"cpu", "many:0"}, {{"FERRY_VISIBLE_DEVICES", "many:1"}});
}

TEST_F(DeviceListTest, NamesItselfInErrors) {
  Json line = parse("many:0,5;duo2");
  EXPECT_EQ(line.value("error", ""), "UnavailableError");
  const std::string text = line.value("text", "");
  EXPECT_TRUE(text.starts_with("[parse_devices] there is no device 'many:5': 'many' has 4 devices"))
      << text;
  EXPECT_TRUE(text.ends_with("\n  many:0,5;duo2\n         ^")) << text;
  line = parse("many:0;;");
  EXPECT_EQ(line.value("error", ""), "InvalidArgument");
  EXPECT_TRUE(line.value("text", "").ends_with("\n  many:0;;\n         ^")) << line.dump();
  EXPECT_EQ(parse("many:0,0").value("error", ""), "InvalidArgument");
}

TEST_F(DeviceListTest, OneCardOfTwoBackendsCountsOnce) {
  add("twin");
  const auto same = [&](const Variables& variables) {
    Names names;
    for (const Json& line : lines_of({"devices"}, variables)) {
      const std::string device = line.at("device"), other = line.at("same_as");
      if (!other.empty()) names.push_back(device + "=" + other);
    }
    return names;
  };
  const auto gpus = [&](const Variables& variables) {
    return lines_of({"available", "gpu"}, variables).at(0).at("count").get<int>();
  };
  // By UUID, spelt in two ways.
  Variables variables = {{"FERRY_MANY_UUID", "GPU-12ab-34,GPU-56,GPU-78,"},
                         {"FERRY_TWIN_UUID", "78,12AB34"}};
  EXPECT_EQ(same(variables), (Names{"twin:0=many:2", "twin:1=many:0"}));
  EXPECT_EQ(gpus(variables), 5);  // duo2:0 is the fifth
  EXPECT_EQ(gpus({}), 7);
  EXPECT_EQ(same({}), Names{});
  // By address, where one backend has no UUIDs.
  variables = {{"FERRY_MANY_UUID", "GPU-1,GPU-2"},
               {"FERRY_MANY_PCI", "0000:41:00.0,0000:c1:00.0"},
               {"FERRY_TWIN_PCI", "c1:00.0,0000:0:0.0"}};
  EXPECT_EQ(same(variables), Names{"twin:0=many:1"});
  // Two parts of one card are two, and paired; zeros tell nothing.
  variables = {{"FERRY_MANY_PCI", "0000:41:00.0,0000:41:00.0,0000:00:00.0"},
               {"FERRY_TWIN_PCI", "0000:41:00.0,0000:41:00.0"}};
  EXPECT_EQ(same(variables), (Names{"twin:0=many:0", "twin:1=many:1"}));
  variables = {{"FERRY_MANY_UUID", "00000000-0000"}, {"FERRY_TWIN_UUID", "00000000-0000"}};
  EXPECT_EQ(same(variables), Names{});
  // A hidden route is no route.
  variables = {{"FERRY_MANY_UUID", "a,b"},
               {"FERRY_TWIN_UUID", "b,c"},
               {"FERRY_VISIBLE_DEVICES", "many:0;twin"}};
  EXPECT_EQ(same(variables), Names{});
  EXPECT_EQ(gpus(variables), 3);
  variables["FERRY_VISIBLE_DEVICES"] = "many:1;twin";
  EXPECT_EQ(same(variables), Names{"twin:0=many:0"});
  EXPECT_EQ(gpus(variables), 2);
}

TEST_F(DeviceListTest, ListWordsNameNoOneDevice) {
  for (const char* name : {"all", "none", "all:0", "none:1"}) {
    const Json line = lines_of({"device", name}).at(0);
    EXPECT_EQ(line.value("error", ""), "InvalidArgument") << line.dump();
    EXPECT_NE(line.value("text", "").find("lists of devices only"), std::string::npos);
  }
}

}  // namespace
}  // namespace ferry::test
