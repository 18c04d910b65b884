// SPDX-License-Identifier: Apache-2.0
//
// Today's libferry with plugins from the past, the present and the future, from
// other compilers, and with less than all functions.
#include <filesystem>
#include <string>
#include <vector>

#include "../runtime/child.h"
#include "plugin.h"

namespace ferry::test {
namespace {

/// Of the network: products, sums and broadcasts are not among the kernels of
/// the plugins, the rest is.
constexpr int kFallbacks = 4;

class AbiTest : public LoaderTest {
 protected:
  AbiTest() { std::filesystem::copy_file(FERRY_CPU_PLUGIN, folder_ / "ferry_cpu.so"); }

  Json first_of(const std::string& command, const Variables& environment = {}) {
    Variables variables = environment;
    // A fallback is announced on stderr otherwise.
    variables.try_emplace("FERRY_FALLBACK", "allow");
    const std::vector<Json> lines = lines_of({command}, variables);
    return lines.empty() ? Json::object() : lines[0];
  }
  std::vector<Json> all_of(const std::string& command, const Variables& environment = {}) {
    Variables variables = environment;
    variables.try_emplace("FERRY_FALLBACK", "allow");
    return lines_of({command}, variables);
  }
  /// The two-layer network gives on the plugin what it gives on the CPU.
  Json expect_network(const Variables& environment = {}) {
    const Json line = first_of("network", environment);
    EXPECT_EQ(line.value("device", ""), "acme:0") << line.dump(2);
    EXPECT_TRUE(line.value("equal", false)) << line.dump(2);
    return line;
  }
};

void expect_has(const Json& line, const char* field, const std::string& part) {
  EXPECT_NE(line.value(field, "").find(part), std::string::npos)
      << field << " lacks '" << part << "': " << line.dump(2);
}

// ---- Versions -----------------------------------------------------------------

class EveryPlugin : public AbiTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(EveryPlugin, RunsANetwork) {
  const std::string path = add(GetParam());
  EXPECT_EQ(entry_of(path).at("code"), "F000") << entry_of(path).dump(2);
  const Json line = expect_network();

  EXPECT_EQ(line.value("fallbacks", 0), kFallbacks) << line.dump(2);
  EXPECT_EQ(line.value("name", ""), "Acme One");
  const bool older = std::string(GetParam()) == "older";
  EXPECT_EQ(line.value("driver", "?"), older ? "" : "12.0");
}

// The last kernel of the array is found only by each element's own size.
TEST_P(EveryPlugin, HasAllItsKernels) {
  add(GetParam());
  const std::vector<Json> lines = all_of("call");
  ASSERT_EQ(lines.size(), 4u);
  const std::vector<float> axpy = {12, 24, 36, 48, 60, 72}, transposed = {2, 6, 10, 4, 8, 12},
                           reversed = {4, 3, 2, 1};
  EXPECT_EQ(lines[0].value("values", std::vector<float>()), axpy) << lines[0].dump();
  EXPECT_EQ(lines[1].value("values", std::vector<float>()), transposed) << lines[1].dump();
  EXPECT_EQ(lines[2].value("values", std::vector<float>()), reversed) << lines[2].dump();
  if (std::string(GetParam()) == "older") return;  // it has no extension to ask
  EXPECT_EQ(lines[3].value("axpy", 0), 2);
  EXPECT_EQ(lines[3].value("reverse", 0), 1);
}

TEST_P(EveryPlugin, SeesNothingBeyondTodaysStructs) {
  add(GetParam());
  const Json line = first_of("extension");
  const bool older = std::string(GetParam()) == "older";
  EXPECT_EQ(line.value("present", older), !older) << line.dump();
  if (older) return;
  EXPECT_EQ(line.value("size", 0u), sizeof(acme_graph));
  EXPECT_EQ(line.value("saw_later", 99), 0);
  EXPECT_FALSE(line.value("other_name", true));
  EXPECT_FALSE(line.value("on_cpu", true));
}

INSTANTIATE_TEST_SUITE_P(Versions, EveryPlugin, ::testing::Values("older", "today", "newer"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(AbiTest, APluginThatNeedsANewerHostIsRefusedWithBothNumbers) {
  const Json entry = entry_of(add("needs_newer"));
  EXPECT_EQ(entry.at("code"), "F301");
  expect_has(entry, "text", "1.7");
  expect_has(entry, "text", "1.0");
  expect_has(entry, "remedy", "upgrade Ferry");
  expect_has(first_of("network"), "text", "F301");
}

TEST_F(AbiTest, APluginWithADescriptorTooShortIsRefusedWithBothNumbers) {
  const Json entry = entry_of(add("short_descriptor"));
  EXPECT_EQ(entry.at("code"), "F302");
  expect_has(entry, "text", "ABI 1.0");
  expect_has(entry, "text", std::to_string(SHORT_DESCRIPTOR));
  expect_has(entry, "remedy", "upgrade the plugin");
}

// ---- Compilers ----------------------------------------------------------------

class Compilers : public AbiTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(Compilers, ThePluginIsLoadedAndUsed) {
  const std::string name = GetParam();
  if (!std::filesystem::exists(built(name))) {
    GTEST_SKIP() << "clang++ with libc++ is not installed (packages clang, libc++-dev, "
                    "libc++abi-dev)";
  }
  const std::string path = add(name);
  EXPECT_EQ(entry_of(path).at("code"), "F000") << entry_of(path).dump(2);
  const Json line = expect_network();
  EXPECT_EQ(line.value("fallbacks", 99), kFallbacks) << line.dump();
}

INSTANTIATE_TEST_SUITE_P(Compilers, Compilers,
                         ::testing::Values("cpp_plain", "cpp_libcxx", "c_clang"),
                         [](const auto& info) { return std::string(info.param); });

// ---- Required and optional ------------------------------------------------------

class Required : public AbiTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(Required, AMissingFunctionIsNamed) {
  const Json entry = entry_of(add("today"), {{"FERRY_ACME_ZERO", GetParam()}});
  EXPECT_EQ(entry.at("code"), "F401");
  // Without a table, the first of its functions is missing.
  const std::string name = GetParam();
  expect_has(entry, "text", "'" + (name == "core" ? std::string("count") : name) + "'");
}

INSTANTIATE_TEST_SUITE_P(Slots, Required,
                         ::testing::Values("core", "count", "info", "open", "close", "alloc",
                                           "release", "h2d", "d2h", "d2d", "sync"),
                         [](const auto& info) { return std::string(info.param); });

class Optional : public AbiTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(Optional, WithoutItTheNetworkRuns) {
  const std::string path = add("today");
  const Variables zero = {{"FERRY_ACME_ZERO", GetParam()}};
  EXPECT_EQ(entry_of(path, zero).at("code"), "F000");
  expect_network(zero);
}

INSTANTIATE_TEST_SUITE_P(Slots, Optional,
                         ::testing::Values("fill", "memory_info", "quiesce", "streams",
                                           "stream_create", "stream_destroy", "event_create",
                                           "event_destroy", "event_record", "stream_wait",
                                           "event_sync", "event_query", "event_elapsed",
                                           "host_function", "native_stream", "peer", "can_access",
                                           "copy", "kernels", "extensions"),
                         [](const auto& info) { return std::string(info.param); });

// Every operation runs, on the CPU, and is counted.
TEST_F(AbiTest, TenFunctionsRunANetwork) {
  add("today");
  const Json all = expect_network();
  const Json line = expect_network(
      {{"FERRY_ACME_ZERO", "fill,memory_info,quiesce,streams,peer,kernels,extensions"}});
  EXPECT_GT(line.value("fallbacks", 0), all.value("fallbacks", 0));
}

// ---- fill -----------------------------------------------------------------------

const std::vector<std::vector<double>> kFilled = {
    {0, 0, 0, 0}, {-1, -1, -1}, {257, 257, 257},    {1, 1},
    {1.5, 1.5},   {0, 0},       {1, 0, 1, 1, 0, 1}, {1, 1, 0, 0, 1, 1}};

void expect_filled(const std::vector<Json>& lines, const std::vector<int>& fills) {
  ASSERT_EQ(lines.size(), kFilled.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].value("values", std::vector<double>()), kFilled[i]) << lines[i].dump();
    EXPECT_EQ(lines[i].value("fills", -1), fills[i]) << i << ": " << lines[i].dump();
  }
}

// Zeros, -1, 257 in i16 (0x0101), true; the row of `rows` at the end.
TEST_F(AbiTest, FillServesValuesOfEqualBytes) {
  add("today");
  expect_filled(all_of("fill"), {1, 2, 3, 4, 4, 4, 4, 5});
}

TEST_F(AbiTest, WithoutFillAKernelDoesIt) {
  add("today");
  expect_filled(all_of("fill", {{"FERRY_ACME_ZERO", "fill"}}), std::vector<int>(8, 0));
}

TEST_F(AbiTest, AFailingFillIsDoneByAKernel) {
  add("today");
  expect_filled(all_of("fill", {{"FERRY_ACME_FILL_FAILS", "1"}}), std::vector<int>(8, 0));
}

// ---- Families of the plugin's own -------------------------------------------------

TEST_F(AbiTest, CallRefusesWithTheReason) {
  add("today");
  const std::vector<Json> lines = all_of("call_errors");
  ASSERT_EQ(lines.size(), 10u);
  const auto expect = [&](size_t i, const char* error, const std::vector<std::string>& parts) {
    EXPECT_EQ(lines[i].value("error", ""), error) << i << ": " << lines[i].dump();
    for (const std::string& part : parts) expect_has(lines[i], "text", part);
  };
  expect(0, "UnsupportedError", {"acme:0", "'acme.fft/1'", "map/1, acme.axpy/1, acme.reverse/1"});
  expect(1, "InvalidArgument", {"matmul/1", "ferry/ops.h"});
  expect(2, "InvalidArgument", {"acme:0", "cpu"});
  expect(3, "UnsupportedError", {"acme.axpy/1", "float64[4]"});
  expect(4, "UnsupportedError", {"in place"});
  expect(5, "InvalidArgument", {"output 0", "input 0"});
  expect(6, "InvalidArgument", {"output 0", "share memory"});
  expect(7, "InvalidArgument", {"[0]", "no elements"});
  expect(8, "InvalidArgument", {"no output"});
  expect(9, "UnsupportedError", {"cpu has no kernel family 'acme.axpy/1'"});
}

}  // namespace
}  // namespace ferry::test
