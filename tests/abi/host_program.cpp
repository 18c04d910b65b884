// SPDX-License-Identifier: Apache-2.0
//
// A program on libferry for the tests of the boundary: each case runs it in a
// process of its own, with its own plugins, and reads JSON, a line each.
//
//   host_program COMMAND
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "ferry/ferry.h"
#include "plugin.h"

namespace {

using ferry::Tensor;
using Json = nlohmann::json;

void print(const Json& line) { std::cout << line.dump() << '\n'; }

/// Runs `f`; prints what it returns, or which exception it threw.
void print_result(const std::function<Json()>& f) {
  Json line;
  try {
    line = f();
  } catch (const ferry::InvalidArgument& e) {
    line = {{"error", "InvalidArgument"}, {"text", e.what()}};
  } catch (const ferry::UnsupportedError& e) {
    line = {{"error", "UnsupportedError"}, {"text", e.what()}};
  } catch (const ferry::Error& e) {
    line = {{"error", "Error"}, {"text", e.what()}};
  }
  print(line);
}

Tensor ramp(std::initializer_list<int64_t> shape, double first, double step) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return (ferry::arange(0, n, 1, {ferry::kF32, "cpu"}) * step + first).view(shape);
}

/// Two layers; all values are small integers and halves, so exact anywhere.
Tensor run_network(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2) {
  const Tensor h = ferry::relu(ferry::matmul(x, w1) + b1);
  return ferry::sum(ferry::matmul(h, w2) * 0.5, {1});
}

const acme_graph* graph_of(const ferry::Device& device) {
  return static_cast<const acme_graph*>(ferry::extension(device, ACME_EXTENSION_GRAPH));
}

void report() {
  for (const ferry::LoadReportEntry& e : ferry::load_report()) {
    print({{"file", e.file},
           {"code", e.code},
           {"text", e.text},
           {"remedy", e.remedy},
           {"backend", e.backend}});
  }
}

/// On the CPU and on acme:0, with copies between acme:0 and acme:1 before.
void network() {
  print_result([] {
    const ferry::Device device("acme:0"), other("acme:1");
    const Tensor x = ramp({4, 6}, -8, 1), w1 = ramp({6, 5}, -3, 0.5), b1 = ramp({5}, 1, 1),
                 w2 = ramp({5, 3}, 2, -0.5);
    const std::vector<float> expected = run_network(x, w1, b1, w2).to_vector<float>();
    const Tensor there = x.to(other).to(device).clone();
    const Tensor y = run_network(there, w1.to(device), b1.to(device), w2.to(device));
    const ferry::Stream stream(device);
    {
      const ferry::StreamGuard guard(stream);
      (void)ferry::relu(y);
    }
    ferry::synchronize(device);
    const ferry::DeviceProperties p = ferry::device_properties(device);
    return Json{{"device", y.device().str()},
                {"equal", y.to_vector<float>() == expected},
                {"fallbacks", ferry::fallback_stats(device).calls},
                {"total", ferry::mem_get_info(device).total},
                {"name", p.name},
                {"driver", p.driver}};
  });
}

/// Fills, each with how many of them the plugin's own `fill` did so far.
void fill() {
  const ferry::Device device("acme:0");
  const auto show = [&](const Tensor& t) {
    print_result([&] {
      const acme_graph* graph = graph_of(device);
      return Json{{"values", t.to(ferry::kF64).to_vector<double>()},
                  {"fills", graph != nullptr ? graph->fills() : 0}};
    });
  };
  show(ferry::zeros({2, 2}, device));
  show(ferry::full({3}, -1, {ferry::kI32, device}));
  show(ferry::full({3}, 257, {ferry::kI16, device}));
  show(ferry::full({2}, true, {ferry::kBool, device}));
  show(ferry::full({2}, 1.5, device));   // its bytes differ
  show(ferry::full({2}, -0.0, device));  // so do these
  const Tensor wide = ferry::ones({2, 3}, device);
  wide.narrow(1, 1, 1).zero_();  // has gaps
  show(wide);
  const Tensor rows = ferry::ones({3, 2}, device);
  rows[1].zero_();  // in the middle
  show(rows);
}

/// Kernel families of the plugin's own.
void call() {
  const ferry::Device device("acme:0");
  const acme_axpy attr = {sizeof attr, 2.0f};
  print_result([&] {
    const Tensor x = ramp({2, 3}, 1, 1).to(device), y = ramp({2, 3}, 10, 10).to(device);
    const Tensor out = ferry::empty({2, 3}, device);
    ferry::call(ACME_FAMILY_AXPY, {x, y}, {out}, &attr);
    return Json{{"values", out.to_vector<float>()}};
  });
  print_result([&] {
    // A transposed input is made contiguous for a kernel that needs it.
    const Tensor x = ramp({3, 2}, 1, 1).to(device).t(), y = ferry::zeros({2, 3}, device);
    const Tensor out = ferry::empty({2, 3}, device);
    ferry::call(ACME_FAMILY_AXPY, {x, y}, {out}, &attr);
    return Json{{"values", out.to_vector<float>()}};
  });
  print_result([&] {
    // And is left alone for one that does not, as is a transposed output.
    const Tensor x = ramp({2, 2}, 1, 1).to(device);
    const Tensor out = ferry::empty({2, 2}, device);
    ferry::call(ACME_FAMILY_REVERSE, {x.t()}, {out.t()}, nullptr);
    return Json{{"values", out.to_vector<float>()}};
  });
  print_result([&] {
    const acme_graph* graph = graph_of(device);
    return Json{{"axpy", graph != nullptr ? graph->launches(ACME_FAMILY_AXPY) : 99},
                {"reverse", graph != nullptr ? graph->launches(ACME_FAMILY_REVERSE) : 99}};
  });
}

void call_errors() {
  const ferry::Device device("acme:0");
  const acme_axpy attr = {sizeof attr, 2.0f};
  const Tensor x = ferry::ones({4}, device), out = ferry::empty({4}, device);
  const Tensor far = ferry::ones({4}, "cpu"), wide = ferry::ones({4}, {ferry::kF64, device});
  const auto attempt = [&](const char* family, const std::vector<Tensor>& in,
                           const std::vector<Tensor>& to) {
    print_result([&] { return ferry::call(family, in, to, &attr), Json{{"done", family}}; });
  };
  attempt("acme.fft/1", {x}, {out});
  attempt("matmul/1", {x, x}, {out});
  attempt(ACME_FAMILY_AXPY, {x, far}, {out});
  attempt(ACME_FAMILY_AXPY, {wide, wide}, {wide.clone()});
  attempt(ACME_FAMILY_AXPY, {x, x}, {x});
  attempt(ACME_FAMILY_AXPY, {x.narrow(0, 0, 3), x.narrow(0, 0, 3)}, {x.narrow(0, 1, 3)});
  attempt(ACME_FAMILY_AXPY, {x, x}, {ferry::empty({1}, device).expand({4})});
  attempt(ACME_FAMILY_AXPY, {x, x}, {ferry::empty({0}, device)});
  attempt(ACME_FAMILY_AXPY, {x, x}, {});
  attempt(ACME_FAMILY_AXPY, {far, far}, {ferry::empty({4}, "cpu")});
}

/// What the plugin saw of structs longer than today's, after work of all kinds.
void extension() {
  const ferry::Device device("acme:0");
  (void)ferry::relu(ferry::ones({4}, device)).to_vector<float>();
  const acme_graph* graph = graph_of(device);
  print({{"present", graph != nullptr},
         {"size", graph != nullptr ? graph->size : 0},
         {"saw_later", graph != nullptr ? graph->saw_later() : 99},
         {"other_name", ferry::extension(device, "acme.graph/1") != nullptr},
         {"on_cpu", ferry::extension("cpu", ACME_EXTENSION_GRAPH) != nullptr}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)()> commands = {
      {"report", report}, {"network", network},         {"fill", fill},
      {"call", call},     {"call_errors", call_errors}, {"extension", extension}};
  const auto command = commands.find(argc == 2 ? argv[1] : "");
  if (command == commands.end()) return 2;
  try {
    command->second();
  } catch (const std::exception& e) {
    print({{"error", "Error"}, {"text", e.what()}});
    return 1;
  }
  return 0;
}
