// SPDX-License-Identifier: Apache-2.0
//
// `ferry demo`: a network that PyTorch trained reads handwritten digits on
// every device in turn, and all of them must say the same.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "digits.h"
#include "draw.h"
#include "ferry/error.h"
#include "ferry/io/load.h"
#include "ferry/memory.h"
#include "ferry/ops.h"
#include "table.h"

namespace ferry::tools {
namespace {

// Devices round differently; logits of this network are around 10.
constexpr double kTolerance = 1e-3;
constexpr int64_t kPictures = 5;

struct Options {
  std::vector<std::string> devices;
  std::string data;
  std::string checkpoint;
  int repeat = 5;
};

struct Result {
  Device device;
  Tensor logits;  ///< on the CPU
  int64_t correct = 0;
  double images_per_second = 0;
};

// Those of --device, else what FERRY_DEVICE chooses, else all.
std::vector<Device> chosen_devices(const Options& options) {
  std::vector<Device> chosen;
  if (!options.devices.empty()) {
    for (const std::string& text : options.devices) {
      const Device device(text);
      if (std::find(chosen.begin(), chosen.end(), device) == chosen.end()) {
        chosen.push_back(device);
      }
    }
  } else if (environment("FERRY_DEVICE")) {
    chosen.push_back(default_device());
  } else {
    for (const DeviceProperties& p : devices()) chosen.push_back(p.device);
  }
  return chosen;
}

int64_t count_correct(const Tensor& logits, const Digits& digits) {
  const std::vector<int64_t> said = argmax(logits, 1).to_vector<int64_t>();
  int64_t correct = 0;
  for (size_t i = 0; i < said.size(); ++i) correct += said[i] == digits.labels[i] ? 1 : 0;
  return correct;
}

// Moves the network and the pictures to the device and times whole passes over
// all pictures, after one that warms up.
Result classify(DigitNet& model, const Digits& digits, const Device& device, int repeat) {
  model.to(device);
  const Tensor images = digits.images().to(device);
  Result result;
  result.device = device;
  result.logits = model.forward(images).cpu();
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) {
    synchronize(device);
    const auto start = std::chrono::steady_clock::now();
    const Tensor logits = model.forward(images);
    synchronize(device);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    seconds.push_back(time.count());
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  result.images_per_second = static_cast<double>(digits.count) / *middle;
  result.correct = count_correct(result.logits, digits);
  return result;
}

// NaN where one has it, so that no comparison passes by accident.
double largest_difference(const Tensor& a, const Tensor& b) {
  return amax(abs(a - b)).item<double>();
}

// PyTorch's own logits for these pictures and this checkpoint.
std::optional<Tensor> recorded_logits(const std::filesystem::path& folder) {
  const auto file = folder / "expected.pt";
  if (!std::filesystem::exists(file)) return std::nullopt;
  return load(file.string(), Device()).at("logits");
}

// The first pictures, and in place of the last one the first that was misread,
// so that the demo does not look better than it is.
std::string pictures_text(const Digits& digits, const Tensor& logits) {
  const std::vector<int64_t> said = argmax(logits, 1).to_vector<int64_t>();
  const std::vector<float> probability = amax(softmax(logits, 1), {1}).to_vector<float>();
  std::vector<int64_t> shown;
  for (int64_t i = 0; i < std::min(kPictures, digits.count); ++i) shown.push_back(i);
  for (int64_t i = kPictures; i < digits.count; ++i) {
    if (said[static_cast<size_t>(i)] == digits.labels[static_cast<size_t>(i)]) continue;
    shown.back() = i;
    break;
  }
  std::vector<Picture> pictures;
  for (const int64_t index : shown) {
    const auto i = static_cast<size_t>(index);
    pictures.push_back({digits.picture(index),
                        digits.height,
                        digits.width,
                        {fmt::format("label {}", digits.labels[i]),
                         fmt::format("read as {}, {:.1f}%", said[i], 100 * probability[i])}});
  }
  const uint8_t brightest = *std::max_element(digits.pixels.begin(), digits.pixels.end());
  return draw(pictures, brightest, locale_is_utf8());
}

// Devices whose backend lacks operations, which therefore ran elsewhere.
std::string fallbacks_text(const std::vector<Result>& results) {
  std::string out;
  for (const Result& r : results) {
    const FallbackStats stats = fallback_stats(r.device);
    if (stats.calls == 0) continue;
    out += fmt::format("{}: {} operations ran on the CPU, which moved {}\n", r.device.str(),
                       stats.calls, bytes_text(stats.bytes));
  }
  return out.empty() ? out : out + "\n";
}

struct Reference {
  std::optional<Tensor> cpu, torch;
};

bool agrees(const Tensor& logits, const std::optional<Tensor>& reference) {
  return !reference || largest_difference(logits, *reference) <= kTolerance;
}

std::string results_text(const std::vector<Result>& results, const Reference& reference,
                         int64_t count) {
  using Kind = Column::Kind;
  Table table({{"Device"},
               {"Correct", Kind::kNumber},
               {"Accuracy", Kind::kNumber},
               {"Images/s", Kind::kNumber},
               {"Differs from CPU", Kind::kNumber},
               {"Differs from PyTorch", Kind::kNumber}});
  const auto difference = [](const Tensor& a, const std::optional<Tensor>& b) {
    return b ? fmt::format("{:.1e}", largest_difference(a, *b)) : "-";
  };
  for (const Result& r : results) {
    table.add({r.device.str(), fmt::format("{}/{}", r.correct, count),
               fmt::format("{:.2f}%",
                           100.0 * static_cast<double>(r.correct) / static_cast<double>(count)),
               fmt::format("{:.0f}", r.images_per_second), difference(r.logits, reference.cpu),
               difference(r.logits, reference.torch)});
  }
  return table.str();
}

// Adds the verdict below the table; the exit status.
int judge(const std::vector<Result>& results, const Reference& reference) {
  std::string wrong;
  for (const Result& r : results) {
    if (agrees(r.logits, reference.cpu) && agrees(r.logits, reference.torch)) continue;
    wrong += (wrong.empty() ? "" : ", ") + r.device.str();
  }
  if (wrong.empty()) return 0;
  throw Error("demo", fmt::format("logits differ by more than {} on {}", kTolerance, wrong));
}

int run_demo(const Options& options) {
  const std::vector<Device> chosen = chosen_devices(options);
  const std::filesystem::path folder =
      options.data.empty() ? digits_folder() : std::filesystem::path(options.data);
  const Digits digits = read_digits(folder);
  const std::string checkpoint =
      options.checkpoint.empty() ? (folder / "digits.pt").string() : options.checkpoint;

  DigitNet model;
  model.load_state_dict(load(checkpoint, Device()));
  model.eval();

  fmt::print("{}\n{} digits of {}x{} pixels, network from {}\n", devices_text(), digits.count,
             digits.height, digits.width, checkpoint);
  std::fflush(stdout);

  Reference reference;
  if (options.checkpoint.empty()) reference.torch = recorded_logits(folder);
  if (device_count("cpu") > 0) {
    // Parameters are made on the default device, which may be another.
    model.to(Device());
    reference.cpu = model.forward(digits.images());
  }
  std::vector<Result> results;
  for (const Device& device : chosen) {
    results.push_back(classify(model, digits, device, options.repeat));
  }
  fmt::print("Images/s: forward passes over all of them, median of {}\n\n{}\n", options.repeat,
             results_text(results, reference, digits.count));
  fmt::print("{}", fallbacks_text(results));
  const Result& last = results.back();
  fmt::print("As {} reads them:\n\n{}", last.device.str(), pictures_text(digits, last.logits));
  return judge(results, reference);
}

}  // namespace

void add_demo_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "demo", "Read handwritten digits on every device with a network that PyTorch trained");
  const auto options = std::make_shared<Options>();
  command->add_option("--device", options->devices, "Only this device; may be repeated")
      ->type_name("DEVICE")
      ->allow_extra_args(false);
  command->add_option("--data", options->data, "Folder with the digits")->type_name("DIR");
  command->add_option("--checkpoint", options->checkpoint, "Weights, as PyTorch saved them")
      ->type_name("FILE");
  command->add_option("--repeat", options->repeat, "Timed runs a device")
      ->type_name("N")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->footer("Without --device: the device that FERRY_DEVICE names, else all devices.");
  command->callback([&action, options] { action = [options] { return run_demo(*options); }; });
}

}  // namespace ferry::tools
