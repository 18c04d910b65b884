// SPDX-License-Identifier: Apache-2.0
//
// `ferry memory`: a recorded memory history as a table, and as a page.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "commands.h"
#include "digits.h"
#include "ferry/error.h"
#include "ferry/io/load.h"
#include "ferry/memory.h"
#include "ferry/ops.h"
#include "memory_page.h"
#include "table.h"

namespace ferry::tools {
namespace {

struct Options {
  std::string file, html, device;
};

MemoryStats stats_of(const nlohmann::json& json) {
  MemoryStats s;
  s.allocated = json.at("allocated");
  s.peak_allocated = json.at("peak_allocated");
  s.reserved = json.at("reserved");
  s.peak_reserved = json.at("peak_reserved");
  s.limit = json.at("limit");
  s.allocations = json.at("allocations");
  s.driver_allocations = json.at("driver_allocations");
  s.out_of_memory = json.at("out_of_memory");
  return s;
}

MemorySegment segment_of(const nlohmann::json& json) {
  MemorySegment segment;
  segment.address = json.at("address");
  segment.bytes = json.at("bytes");
  for (const auto& block : json.at("blocks")) {
    segment.blocks.push_back({block.at("offset"), block.at("bytes"), block.at("in_use")});
  }
  return segment;
}

MemoryHistory history_of(const nlohmann::json& json) {
  MemoryHistory history;
  std::map<std::pair<std::string, bool>, size_t> index;
  for (const auto& device : json.at("devices")) {
    MemoryRecord record;
    const std::string name = device.at("device");
    const bool pinned = device.at("pinned");
    record.name = pinned ? name + " (pinned)" : name;
    record.total = device.at("total");
    record.stats = stats_of(device.at("stats"));
    for (const auto& segment : device.at("segments")) {
      record.segments.push_back(segment_of(segment));
    }
    index[{name, pinned}] = history.records.size();
    history.records.push_back(std::move(record));
  }
  for (const auto& event : json.at("events")) {
    ++history.events;
    const auto at = index.find({event.at("device"), event.at("pinned")});
    if (at == index.end()) continue;
    MemoryRecord::Sample sample{event.at("us"), event.at("allocated"), event.at("reserved"), 0};
    if (event.at("kind") == "out_of_memory") sample.refused = event.at("bytes");
    history.records[at->second].samples.push_back(sample);
  }
  history.dropped = json.at("dropped");
  return history;
}

std::string table_of(const MemoryHistory& history) {
  using Kind = Column::Kind;
  Table table({{"Memory", Kind::kLong},
               {"In tensors", Kind::kNumber},
               {"Peak", Kind::kNumber},
               {"Reserved", Kind::kNumber},
               {"Peak", Kind::kNumber},
               {"Segments", Kind::kNumber},
               {"Allocations", Kind::kNumber},
               {"Out of memory", Kind::kNumber}});
  for (const MemoryRecord& r : history.records) {
    table.add({r.name, bytes_text(r.stats.allocated), bytes_text(r.stats.peak_allocated),
               bytes_text(r.stats.reserved), bytes_text(r.stats.peak_reserved),
               std::to_string(r.segments.size()), std::to_string(r.stats.allocations),
               std::to_string(r.stats.out_of_memory)});
  }
  return table.str();
}

/// Reads digits in batches of several sizes, and saves while the network lives.
void record_demo(const Device& device, const std::string& file) {
  record_memory_history(true);
  const std::filesystem::path folder = digits_folder();
  const Digits digits = read_digits(folder);
  DigitNet model;
  model.load_state_dict(load((folder / "digits.pt").string(), Device()));
  model.eval();
  model.to(device);
  const Tensor images = digits.images();
  for (const int64_t batch : {16, 64, 256, 64}) {
    for (int64_t i = 0; i + batch <= digits.count; i += batch) {
      const Tensor part = images.narrow(0, i, batch).to(device, {.non_blocking = true});
      (void)argmax(model.forward(part), 1).to(Device(), {.non_blocking = true});
    }
  }
  const Tensor kept = model.forward(images.narrow(0, 0, 16).to(device));
  synchronize(device);
  record_memory_history(false);
  save_memory_history(file);
}

/// A file for the demo's history, gone afterwards.
class TemporaryFile {
 public:
  TemporaryFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ferry-memory-XXXXXX").string();
    const int file = mkstemp(pattern.data());
    if (file < 0) throw FileError("memory", "cannot create '" + pattern + "'");
    (void)fclose(fdopen(file, "w"));
    path_ = pattern;
  }
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

int run_memory(const Options& options) {
  MemoryHistory history;
  std::string title = options.file;
  if (options.file.empty()) {
    const Device device(options.device.empty() ? "auto" : options.device);
    const TemporaryFile file;
    record_demo(device, file.path());
    history = read_memory_history(file.path());
    title = "the digits demo on " + device.str();
  } else {
    history = read_memory_history(options.file);
  }
  fmt::print("Memory of {}: {} events\n\n{}", printable(title), history.events, table_of(history));
  if (options.html.empty()) return 0;
  std::ofstream out(options.html, std::ios::binary);
  out << memory_page(history, title);
  out.close();
  if (!out) throw FileError("memory", "cannot write '" + options.html + "'");
  fmt::print("\nwrote {}\n", printable(options.html));
  return 0;
}

}  // namespace

MemoryHistory read_memory_history(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw FileError("memory", "cannot read '" + file + "'");
  try {
    const nlohmann::json json = nlohmann::json::parse(in);
    if (json.at("format") != "ferry-memory/1") {
      throw FileError("memory", "'" + file + "' is of another format than ferry-memory/1");
    }
    return history_of(json);
  } catch (const nlohmann::json::exception& e) {
    throw FileError("memory", "'" + file +
                                  "' is no history that FERRY_MEMORY_HISTORY or "
                                  "save_memory_history() wrote: " +
                                  e.what());
  }
}

void add_memory_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("memory", "Show how a program used memory: numbers, and a page of curves");
  const auto options = std::make_shared<Options>();
  CLI::Option* file =
      command->add_option("FILE", options->file, "What FERRY_MEMORY_HISTORY=FILE recorded");
  command->add_option("--html", options->html, "Write a page that needs nothing else")
      ->type_name("FILE");
  command->add_option("--device", options->device, "Where the demo runs")
      ->type_name("DEVICE")
      ->excludes(file);
  command->footer("Without FILE: records the digits demo on --device, or the best accelerator.");
  command->callback([&action, options] { action = [options] { return run_memory(*options); }; });
}

}  // namespace ferry::tools
