// SPDX-License-Identifier: Apache-2.0
//
// Every verdict of the loader, from a plugin or file that earns it.
#include <elf.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "child.h"

namespace ferry::test {
namespace {

namespace fs = std::filesystem;

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void expect_has(const Json& entry, const char* field, const std::string& part) {
  EXPECT_NE(entry.at(field).get<std::string>().find(part), std::string::npos)
      << field << " lacks '" << part << "': " << entry.dump(2);
}

struct BadCase {
  const char* plugin;
  const char* code;
  std::vector<std::string> text;    ///< parts of the text
  std::vector<std::string> remedy;  ///< parts of the remedy
  const char* backend = "";         ///< as far as it could be read
};

void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.plugin; }

class BadPlugin : public LoaderTest, public ::testing::WithParamInterface<BadCase> {};

/// The verdict, its words, and a good plugin beside that works all the same.
TEST_P(BadPlugin, IsRefusedAloneWithItsReason) {
  const BadCase& bad = GetParam();
  // Tried before the good one by its name.
  const std::string path = add(bad.plugin, "a_bad.so");
  const std::string good = add("duo", "b_good.so");
  const Json entry = entry_of(path);
  EXPECT_EQ(entry.at("code"), bad.code) << entry.dump(2);
  for (const std::string& part : bad.text) expect_has(entry, "text", part);
  for (const std::string& part : bad.remedy) expect_has(entry, "remedy", part);
  EXPECT_EQ(entry.at("backend"), bad.backend);
  EXPECT_EQ(entry.at("devices"), 0);
  EXPECT_EQ(entry_of(good).at("code"), "F000");
  const Json device = lines_of({"device", "duo2"}).at(0);
  EXPECT_EQ(device.value("str", ""), "duo2:0") << device.dump();
}

INSTANTIATE_TEST_SUITE_P(
    Verdicts, BadPlugin,
    ::testing::Values(
        BadCase{"no_descriptor", "F100", {"ferry_plugin_v1"}, {}},
        BadCase{"wrong_magic", "F100", {"0x12345678", "0x59525246"}, {}},
        BadCase{"bad_name", "F100", {"'Acme-1'", "[a-z][a-z0-9_]*"}, {"another name"}},
        BadCase{"null_name", "F100", {"''"}, {}},
        BadCase{"reserved_name", "F100", {"'gpu'", "reserved"}, {"another name"}},
        BadCase{"list_word_name", "F100", {"'none'", "reserved"}, {"another name"}},
        BadCase{"undefined_symbol", "F201", {"'acme_symbol_that_nobody_has'"}, {"link"}},
        BadCase{"missing_dependency", "F203", {"'libacme_dependency.so'"}, {"LD_LIBRARY_PATH"}},
        BadCase{"wrong_major", "F300", {"7.0", "1.0"}, {"upgrade Ferry"}},
        BadCase{"next_major_symbol", "F300", {"ABI 2", "speaks 1"}, {"upgrade Ferry"}},
        BadCase{"minor_too_new", "F301", {"1.999", "1.0"}, {"upgrade Ferry"}, "acme"},
        BadCase{"short_descriptor", "F302", {"40 bytes"}, {"upgrade the plugin"}},
        BadCase{"needs_feature", "F303", {"bit 5"}, {"upgrade Ferry"}, "acme"},
        BadCase{"probe_declines", "F400", {"the driver is from 1999"}, {"a quiet room"}, "acme"},
        BadCase{"probe_throws", "F400", {"threw"}, {}, "acme"},
        BadCase{"init_fails", "F401", {"the licence is on holiday"}, {"a quiet room"}, "acme"},
        BadCase{"init_throws", "F401", {"the init of acme gave up"}, {}, "acme"},
        BadCase{"no_init", "F401", {"no init"}, {}},
        BadCase{"no_core", "F401", {"'count'"}, {"ten"}, "acme"},
        BadCase{"null_slot", "F401", {"'alloc'"}, {"ten"}, "acme"},
        BadCase{"cut_table", "F401", {"'sync'"}, {"ten"}, "acme"},
        BadCase{"absurd_count", "F401", {"4000000000"}, {}, "acme"},
        BadCase{"info_fails", "F401", {"device 1", "fell off the bus"}, {}, "acme"},
        BadCase{"false_cpu", "F401", {"'cpu'"}, {"another name"}, "cpu"},
        BadCase{"no_devices", "F403", {"no device"}, {"a quiet room"}, "acme"},
        BadCase{"no_devices_words", "F403", {"no card in the slot"}, {}, "acme"},
        BadCase{"no_devices_log", "F403", {"all cards are hidden"}, {}, "acme"},
        BadCase{"count_throws", "F403", {"threw"}, {}, "acme"}),
    [](const auto& info) { return std::string(info.param.plugin); });

TEST_F(LoaderTest, LoadsAGoodPlugin) {
  const Json entry = entry_of(add("acme"));
  EXPECT_EQ(entry.at("code"), "F000") << entry.dump(2);
  EXPECT_EQ(entry.at("found_by"), "FERRY_PLUGIN_PATH");
  EXPECT_EQ(entry.at("backend"), "acme");
  EXPECT_EQ(entry.at("version"), "1.2.3");
  EXPECT_EQ(entry.at("devices"), 2);
  EXPECT_GT(entry.at("milliseconds").get<double>(), 0);
  expect_has(entry, "text", "2 devices");
}

TEST_F(LoaderTest, TenFunctionsAreEnough) {
  EXPECT_EQ(entry_of(add("short_table")).at("code"), "F000");
}

TEST_F(LoaderTest, RefusesWhatIsNoLibrary) {
  const std::string text = add_text("a_text.so", "I am a letter.\n");
  const std::string html = add_text("a_page.so", "<!DOCTYPE html>\n");
  const std::string empty = add_text("an_empty.so", "");
  const std::string readme = add_text("README", "Plugins go here.\n");
  add("duo");
  for (const std::string& path : {text, html}) {
    const Json entry = entry_of(path);
    EXPECT_EQ(entry.at("code"), "F202");
    expect_has(entry, "text", "ELF");
  }
  EXPECT_EQ(entry_of(empty).at("code"), "F202");
  expect_has(entry_of(empty), "text", "empty");
  EXPECT_EQ(entry_of(readme).at("code"), "F100");
  expect_has(entry_of(readme), "text", ".so");
  EXPECT_EQ(lines_of({"device", "duo2:0"}).at(0).value("str", ""), "duo2:0");
}

/// A library cut at any place is refused; the loader must not touch it, since
/// a page behind the file's end is a SIGBUS.
TEST_F(LoaderTest, RefusesTruncatedLibraries) {
  const std::string whole = contents(built("acme"));
  ASSERT_GT(whole.size(), 4096u);
  std::vector<std::string> paths;
  for (const size_t size : {size_t{1}, size_t{4}, size_t{15}, size_t{63}, size_t{64}, size_t{200},
                            size_t{1000}, size_t{4096}, whole.size() / 2, whole.size() - 1}) {
    paths.push_back(add_text("cut_" + std::to_string(size) + ".so", whole.substr(0, size)));
  }
  const std::string good = add("duo");
  for (const std::string& path : paths) {
    const Json entry = entry_of(path);
    EXPECT_EQ(entry.at("code"), "F202") << entry.dump(2);
    expect_has(entry, "text", "truncated");
  }
  EXPECT_EQ(entry_of(good).at("code"), "F000");
}

TEST_F(LoaderTest, NamesBothArchitectures) {
  std::string library = contents(built("acme"));
  uint16_t own = 0;
  std::memcpy(&own, library.data() + offsetof(Elf64_Ehdr, e_machine), sizeof own);
  const uint16_t foreign = own == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
  std::memcpy(library.data() + offsetof(Elf64_Ehdr, e_machine), &foreign, sizeof foreign);
  const Json entry = entry_of(add_text("ferry_foreign.so", library));
  EXPECT_EQ(entry.at("code"), "F202");
  if (own == EM_X86_64 || own == EM_AARCH64) {
    expect_has(entry, "text", "AArch64");
    expect_has(entry, "text", "x86-64");
  }
  // As many bits, in the other byte order.
  library = contents(built("acme"));
  char& order = library[EI_DATA];
  order = order == ELFDATA2LSB ? ELFDATA2MSB : ELFDATA2LSB;
  EXPECT_EQ(entry_of(add_text("ferry_endian.so", library)).at("code"), "F202");
  library = contents(built("acme"));
  library[EI_CLASS] = library[EI_CLASS] == ELFCLASS64 ? ELFCLASS32 : ELFCLASS64;
  EXPECT_EQ(entry_of(add_text("ferry_bits.so", library)).at("code"), "F202");
}

TEST_F(LoaderTest, RefusesAnExecutable) {
  const std::string path = (folder_ / "program.so").string();
  fs::copy_file(LIST_DEVICES, path);
  const Json entry = entry_of(path);
  EXPECT_EQ(entry.at("code"), "F202") << entry.dump(2);
}

TEST_F(LoaderTest, OneFileUnderTwoNamesLoadsOnce) {
  const std::string first = add("acme", "a.so");
  const std::string link = (folder_ / "b.so").string(), hard = (folder_ / "c.so").string();
  fs::create_symlink(first, link);
  fs::create_hard_link(first, hard);
  EXPECT_EQ(entry_of(first).at("code"), "F000");
  for (const std::string& path : {link, hard}) {
    const Json entry = entry_of(path);
    EXPECT_EQ(entry.at("code"), "F101");
    expect_has(entry, "text", first);
  }
}

TEST_F(LoaderTest, TwoPluginsOfOneNameNameEachOther) {
  const std::string first = add("acme", "a.so"), second = add("acme", "b.so");
  EXPECT_EQ(entry_of(first).at("code"), "F000");
  const Json entry = entry_of(second);
  EXPECT_EQ(entry.at("code"), "F101");
  EXPECT_EQ(entry.at("file"), second);
  expect_has(entry, "text", first);
  EXPECT_EQ(lines_of({"devices"}).size(), 2u);
}

TEST_F(LoaderTest, TheBestBuildOfANameWins) {
  const std::string low = add("acme_score_5", "a.so"), high = add("acme_score_9", "b.so");
  EXPECT_EQ(entry_of(high).at("code"), "F000");
  expect_has(entry_of(high), "text", "score 9");
  const Json entry = entry_of(low);
  EXPECT_EQ(entry.at("code"), "F101");
  expect_has(entry, "text", high);
  expect_has(entry, "text", "score is 9; this one's is 5");
  EXPECT_EQ(entry.at("remedy"), "");
}

TEST_F(LoaderTest, TheNextBuildStepsInWhereTheBestFails) {
  const std::string low = add("acme_score_5", "a.so"), high = add("acme_score_9_fails", "b.so");
  EXPECT_EQ(entry_of(high).at("code"), "F401");
  expect_has(entry_of(high), "text", "the fast build gave up");
  EXPECT_EQ(entry_of(low).at("code"), "F000");
}

TEST_F(LoaderTest, TwentyBadOnesDoNoHarm) {
  for (int i = 0; i < 20; ++i) add("init_throws", "bad_" + std::to_string(i) + ".so");
  add("acme", "z.so");
  EXPECT_EQ(lines_of({"devices"}).size(), 2u);
  EXPECT_EQ(lines_of({"report"}).size(), 21u);
}

TEST_F(LoaderTest, OptionsComeFromTheBackendsVariables) {
  add("acme");
  add("duo");
  const auto devices = lines_of({"devices"}, {{"FERRY_ACME_DRIVER", "7.5"}});
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].at("driver"), "7.5");
  EXPECT_EQ(devices[2].at("driver"), "");
  // The plugin fills its text without an end; the host ends it.
  EXPECT_EQ(devices[0].at("name"), std::string(95, 'n'));
}

TEST_F(LoaderTest, FirstUseFromManyThreads) {
  // Its init takes a while, and fails when it runs a second time.
  add("acme_slow");
  add_text("letter.so", "no library");
  const Json seen = lines_of({"threads"}).at(0).at("seen");
  ASSERT_EQ(seen.size(), 16u);
  for (const Json& text : seen) EXPECT_EQ(text, "2002 acme:1");
}

TEST_F(LoaderTest, PrintsNothingUnlessAsked) {
  add("acme");
  add("init_fails", "a1.so");
  add("no_devices_log", "a2.so");
  add_text("letter.so", "no library");
  ChildResult result = run({"quiet"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "");
  result = run({"quiet"}, {{"FERRY_LOG", "warn"}});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("warn: [acme]"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("the licence is on holiday"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("info:"), std::string::npos) << result.err;
  result = run({"quiet"}, {{"FERRY_LOG", "loud"}});
  EXPECT_NE(result.err.find("FERRY_LOG='loud'"), std::string::npos) << result.err;
}

TEST_F(LoaderTest, TheLogCallbackMayUseTheLibrary) {
  add("acme");
  add("no_devices_log", "a.so");
  const auto lines = lines_of({"log"});
  ASSERT_FALSE(lines.empty());
  const Json& last = lines.back();
  EXPECT_EQ(last.at("devices"), 2);
  EXPECT_EQ(last.at("expected"), 2);
  // What a plugin logs while it is loaded is delivered too, afterwards.
  bool found = false;
  for (const Json& line : lines) found |= line.value("text", "") == "all cards are hidden";
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace ferry::test
