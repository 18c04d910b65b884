// SPDX-License-Identifier: Apache-2.0
//
// The services that a plugin gets, and the log behind them.
#include "runtime/host_services.h"

#include <stdlib.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ferry/hal/status.h"
#include "ferry/log.h"
#include "runtime/log.h"

namespace ferry::runtime {
namespace {

TEST(HostServices, FailureTextsBelongToTheirThread) {
  const ferry_host& host = host_services();
  EXPECT_EQ(take_failure(), "");
  EXPECT_EQ(host.fail(FERRY_E_OOM, "alloc", "no room"), FERRY_E_OOM);
  std::thread([&] {
    EXPECT_EQ(take_failure(), "");
    host.fail(FERRY_E_ARG, "elsewhere", "another thread");
  }).join();
  EXPECT_EQ(take_failure(), "alloc: no room");
  EXPECT_EQ(take_failure(), "");
}

TEST(HostServices, TakesPartsOfAText) {
  const ferry_host& host = host_services();
  host.fail(FERRY_E_OTHER, nullptr, "only a text");
  EXPECT_EQ(take_failure(), "only a text");
  host.fail(FERRY_E_OTHER, "somewhere", nullptr);
  EXPECT_EQ(take_failure(), "somewhere");
  host.fail(FERRY_E_OTHER, nullptr, nullptr);
  EXPECT_EQ(take_failure(), "");
}

TEST(HostServices, CutsLongTextsBetweenCharacters) {
  // Every character takes two bytes, so that one of two cuts is inside one.
  for (const std::string prefix : {"", "x"}) {
    std::string text = prefix;
    while (text.size() < 100000) text += "\xc3\xa9";
    host_services().fail(FERRY_E_OTHER, "long", text.c_str());
    const std::string kept = take_failure();
    EXPECT_GT(kept.size(), 1000u);
    EXPECT_LT(kept.size(), 10000u);
    EXPECT_EQ((kept.size() - std::string("long: ").size() - prefix.size()) % 2, 0u);
    EXPECT_EQ(kept.back(), '\xa9');
  }
}

TEST(HostServices, HalFailReachesThem) {
  (void)host_services();
  EXPECT_EQ(hal::fail(FERRY_E_ARG, "here", "wrong").code(), FERRY_E_ARG);
  EXPECT_EQ(take_failure(), "here: wrong");
}

TEST(HostServices, OptionsAreNamedAfterThePlugin) {
  ::setenv("FERRY_ACME_MEMORY", "12", 1);
  ::setenv("FERRY_APEX_MEMORY", "34", 1);
  const ferry_host* acme = host_services_for("acme");
  const ferry_host* apex = host_services_for("apex");
  ASSERT_NE(acme, nullptr);
  ASSERT_NE(apex, nullptr);
  EXPECT_NE(acme, apex);
  EXPECT_EQ(host_services_for("acme"), acme);
  EXPECT_STREQ(acme->option("memory"), "12");
  EXPECT_STREQ(apex->option("memory"), "34");
  EXPECT_EQ(acme->option("absent"), nullptr);
  EXPECT_EQ(acme->option(nullptr), nullptr);
  EXPECT_EQ(host_services().option("memory"), nullptr);
  // Also asked by threads of the plugin, later.
  std::thread([&] { EXPECT_STREQ(acme->option("memory"), "12"); }).join();
}

TEST(HostServices, LinesNameThePlugin) {
  std::vector<std::string> lines;
  set_log_callback(
      [&](LogLevel level, std::string_view component, std::string_view text) {
        lines.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(component) +
                        " " + std::string(text));
      },
      LogLevel::kInfo);
  const ferry_host* acme = host_services_for("acme");
  acme->log(FERRY_LOG_WARN, "warm");
  acme->log(FERRY_LOG_DEBUG, "too much detail");
  acme->log(-5, "beyond error");
  acme->log(FERRY_LOG_ERROR, nullptr);
  set_log_callback({});
  acme->log(FERRY_LOG_ERROR, "nobody listens");
  EXPECT_EQ(lines, (std::vector<std::string>{"1 acme warm", "0 acme beyond error"}));
  EXPECT_EQ(take_log_line(), "nobody listens");
  EXPECT_EQ(take_log_line(), "");
}

ferry_device lost_device = nullptr;
std::string lost_text;

TEST(HostServices, LostDevicesReachTheHandler) {
  const auto device = reinterpret_cast<ferry_device>(uintptr_t{0xd0});
  const ferry_host* acme = host_services_for("acme");
  acme->device_lost(device, "before there is a handler");
  set_device_lost_handler([](ferry_device d, const char* text) {
    lost_device = d;
    lost_text = text;
  });
  acme->device_lost(device, "it left");
  set_device_lost_handler(nullptr);
  EXPECT_EQ(lost_device, device);
  EXPECT_EQ(lost_text, "it left");
}

TEST(Log, AHoldDelaysLinesForTheCallback) {
  std::vector<std::string> lines;
  set_log_callback([&](LogLevel, std::string_view, std::string_view text) {
    lines.emplace_back(text);
    // From inside, a new hold must not wait for anything.
    const LogHold inner;
  });
  {
    const LogHold outer;
    {
      const LogHold inner;
      log(LogLevel::kWarn, "test", "one");
    }
    log(LogLevel::kWarn, "test", "two");
    EXPECT_TRUE(lines.empty());
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}));
  log(LogLevel::kError, "test", "three");
  EXPECT_EQ(lines.size(), 3u);
  set_log_callback({});
}

TEST(Log, TheCallbackMayReplaceItself) {
  int calls = 0;
  set_log_callback([&](LogLevel, std::string_view, std::string_view) {
    ++calls;
    set_log_callback({});
  });
  log(LogLevel::kWarn, "test", "once");
  log(LogLevel::kWarn, "test", "twice");
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(log_enabled(LogLevel::kWarn));
}

/// Last in this file: it uses the room up.
TEST(HostServices, RoomForManyPluginsButNotForAll) {
  std::set<const ferry_host*> tables;
  int i = 0;
  while (const ferry_host* host = host_services_for("many_" + std::to_string(i))) {
    tables.insert(host);
    ASSERT_LT(++i, 10000);
  }
  EXPECT_GE(tables.size(), 100u);
  EXPECT_EQ(static_cast<int>(tables.size()), i);
}

}  // namespace
}  // namespace ferry::runtime
