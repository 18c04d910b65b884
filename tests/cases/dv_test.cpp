// SPDX-License-Identifier: Apache-2.0
//
// The cases of devices: lists, variables read once, hidden and broken plugins,
// forks, threads, names. Those of discovery run in children with plugins made
// for the test.
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "cases.h"
#include "child.h"
#include "ferry/memory.h"
#include "ferry/stream.h"

namespace ferry::test {
namespace {

class Discovery : public LoaderTest {
 protected:
  Discovery() { add("cpu"); }

  /// "cpu many:0=2": devices of a child and their plugins' numbers.
  std::string listing(const Variables& variables) {
    std::string text;
    for (const Json& line : lines_of({"devices"}, variables)) {
      const std::string name = line.at("device");
      text += (text.empty() ? "" : " ") + name;
      if (name != "cpu") text += "=" + std::to_string(line.at("plugin_index").get<int>());
    }
    return text;
  }
  Json parse(const std::string& text, const Variables& variables = {}) {
    return lines_of({"device", text}, variables).at(0);
  }
};

TEST_F(Discovery, DV01_FerrysOwnListIsStrictAndKeepsItsOrder) {
  add("many");
  const auto visible = [&](const std::string& value) {
    return Variables{{"FERRY_VISIBLE_DEVICES", value}, {"FERRY_MANY_UUID", "a1f,a2f,b1f,b2f"}};
  };
  EXPECT_EQ(listing(visible("many:2,0")), "cpu many:0=2 many:1=0");
  EXPECT_EQ(listing(visible("many:uuid=b1")), "cpu many:0=2");
  EXPECT_EQ(listing(visible("")), "cpu");
  EXPECT_EQ(listing({}), "cpu many:0=0 many:1=1 many:2=2 many:3=3");
  for (const char* wrong : {"many:uuid=a", "many:0,0", "many:0,9,1", "many:0,-1,1", "1gpu2",
                            " many:1", "many:1x", "2,0"}) {
    const Json line = parse("many", visible(wrong));
    EXPECT_TRUE(line.contains("error")) << wrong << ": " << line.dump();
    EXPECT_TRUE(has(line.value("text", ""), wrong)) << wrong << ": " << line.dump();
  }
}

TEST_F(Discovery, DV03_VariablesAreReadOnceAndALateChangeIsWarnedOf) {
  add("many");
  const auto lines = lines_of({"change", "FERRY_VISIBLE_DEVICES=many:1"});
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(has(lines[0].value("text", ""), "FERRY_VISIBLE_DEVICES is 'many:1' now"));
  EXPECT_EQ(lines[1].at("before"), 5);
  EXPECT_EQ(lines[1].at("after"), 5);
}

TEST_F(Discovery, DV04_NoDevicesLeftNamesWhatHidesThem) {
  const std::string many = add("many");
  const Json entry =
      entry_of(many, {{"FERRY_MANY_COUNT", "0"}, {"MANY_VISIBLE", "1"}, {"MANY_OUTER", ""}});
  EXPECT_TRUE(has(entry.at("text"), "MANY_VISIBLE='1' is set; MANY_OUTER='' is set"));
  // Ferry's own comes last and counts what the vendor's left.
  EXPECT_EQ(listing({{"FERRY_MANY_COUNT", "2"}, {"FERRY_VISIBLE_DEVICES", "many:1"}}),
            "cpu many:0=1");
  const Json line = parse("many", {{"FERRY_MANY_COUNT", "1"}, {"FERRY_VISIBLE_DEVICES", "many:1"}});
  EXPECT_EQ(line.value("error", ""), "UnavailableError");
}

TEST_F(Discovery, DV05_AnEmptyListOpensNoDriverAndTheCpuWorks) {
  add("many");
  const ChildResult result = run({"devices"}, {{"FERRY_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(result.lines.size(), 1u);
  EXPECT_EQ(result.lines[0].at("device"), "cpu");
}

TEST_F(Discovery, DV08_ADiscreteDeviceComesBeforeAnIntegratedOne) {
  add("discrete");  // its 0 is integrated, its 1 discrete
  EXPECT_EQ(parse("gpu").value("str", ""), "discrete:1");
  EXPECT_EQ(parse("auto").value("str", ""), "discrete:1");
  EXPECT_EQ(parse("gpu", {{"FERRY_VISIBLE_DEVICES", "!discrete:1"}}).value("str", ""),
            "discrete:0");
}

TEST_F(Discovery, DV12_AnUnknownArchitectureIsShownAsItIs) {
  add("many");
  const Variables odd = {{"FERRY_MANY_ARCH", "gen90c,gen9999,gen90a,gen90c"}};
  const auto lines = lines_of({"devices"}, odd);
  EXPECT_EQ(lines.at(1).at("arch"), "gen90c");
  EXPECT_EQ(lines.at(2).at("arch"), "gen9999");
  Variables chosen = odd;
  chosen["FERRY_VISIBLE_DEVICES"] = "many:arch=gen90c";  // that one, not its neighbours
  EXPECT_EQ(listing(chosen), "cpu many:0=0 many:1=3");
}

TEST_F(Discovery, DV14_NamesFollowTheGrammarExactly) {
  add("many");
  for (const char* wrong : {"many:01", "many:-1", "MANY", "many:", "many: 0", "many:0 ", "",
                            "many:+1", "many:1:2", ":0", "many:0x1"}) {
    const Json line = parse(wrong);
    EXPECT_TRUE(line.contains("error")) << wrong << ": " << line.dump();
  }
  EXPECT_EQ(parse("many:3").value("str", ""), "many:3");
  EXPECT_EQ(parse("many").value("str", ""), "many:0");
  // Beyond the last and beyond an index's range alike: no wrapping.
  for (const char* beyond : {"many:4", "many:99999", "many:65536", "many:4294967296"}) {
    EXPECT_EQ(parse(beyond).value("error", ""), "UnavailableError") << beyond;
  }
  EXPECT_TRUE(has(parse("many:99999").value("text", ""), "'many' has 4 devices"));
  const Json unknown = parse("mony:0");
  EXPECT_TRUE(has(unknown.value("text", ""), "cpu, many:0")) << unknown.dump();
  EXPECT_TRUE(parse("cpu:1").contains("error"));
}

TEST_F(Discovery, DV15_ADeviceThatWasAskedForSaysWhyItIsAbsent) {
  const std::string bad = add("init_fails", "b.so");
  const std::string text = parse("acme").value("text", "");
  for (const std::string& part : {bad, std::string("F401"), std::string("the licence")}) {
    EXPECT_TRUE(has(text, part)) << part << " in " << text;
  }
}

TEST(Alone, DV15_WhatADeviceLacksIsCountedAndCanBeRefused) {
  const Tensor a = ones({4, 5}, "sim:0");
  const bool refuse = std::getenv("FERRY_FALLBACK") != nullptr;
  if (refuse) {
    EXPECT_TRUE(has(error_of<UnsupportedError>([&] { (void)matmul(a, a.t()); }), "sim:0"));
    EXPECT_EQ(fallback_stats("sim:0").calls, 0u);
  } else {
    EXPECT_EQ(matmul(a, a.t()).to_vector<float>(), std::vector<float>(16, 5));
    EXPECT_EQ(fallback_stats("sim:0").calls, 1u);
    EXPECT_GT(fallback_stats("sim:0").bytes, 0u);
  }
}

/// Runs `f` in a forked child that must end well and soon.
template <class F>
void in_child(F&& f) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    _exit(f() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

bool computes(const char* device) {
  return sum(ones({1 << 16}, device) + 1).item<float>() == 2 << 16;
}

TEST(Alone, DV09_CountingDoesNotSpoilAFork) {
  EXPECT_EQ(device_count("sim"), 2);
  in_child([] { return computes("cpu") && computes("sim:1"); });
  EXPECT_TRUE(computes("sim:0"));
}

TEST(Alone, DV09_AChildOfAParentThatComputed) {
  EXPECT_TRUE(computes("cpu"));
  EXPECT_TRUE(computes("sim:0"));
  in_child([] {
    try {
      (void)ones({1}, "sim:0");
    } catch (const UnavailableError& e) {
      return has(e.what(), "before this process was forked");
    }
    return false;
  });
  EXPECT_TRUE(computes("sim:0"));
}

TEST(Alone, DV13_WorkGoesToItsTensorsDeviceOnEveryThread) {
  set_device("sim:1");
  const Tensor x = ones({1000}, "sim:1");
  EXPECT_EQ(ones({1}).device().str(), "sim:1");
  std::thread([&] {
    // A new thread begins with the default device and disturbs no other's.
    EXPECT_EQ(current_device(), default_device());
    const uint64_t on_0 = memory_stats("sim:0").allocations;
    EXPECT_EQ((x + 1).device().str(), "sim:1");
    EXPECT_EQ(sum(x).item<float>(), 1000);
    EXPECT_EQ(memory_stats("sim:0").allocations, on_0);
    const DeviceGuard guard("sim:0");
    EXPECT_EQ(ones({1}).device().str(), "sim:0");
    EXPECT_EQ((x + 1).device().str(), "sim:1");
  }).join();
  EXPECT_EQ(current_device().str(), "sim:1");
}

}  // namespace
}  // namespace ferry::test
