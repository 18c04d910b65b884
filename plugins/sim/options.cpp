// SPDX-License-Identifier: Apache-2.0
//
// Reads and checks the FERRY_SIM_ variables.
#include "options.h"

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "ferry/sdk/plugin.h"

namespace ferry::sim {
namespace {

Options& current() {
  static auto* const object = new Options();
  return *object;
}

hal::Status refuse(const char* key, std::string_view value, const char* allowed) {
  std::string name = "FERRY_SIM_";
  for (const char* c = key; *c != '\0'; ++c) {
    name += *c >= 'a' && *c <= 'z' ? static_cast<char>(*c - 'a' + 'A') : *c;
  }
  const std::string text = name + "='" + std::string(value) + "' is not " + allowed;
  return hal::fail(FERRY_E_ARG, "options", text.c_str());
}

/// A number and nothing else, whatever the locale.
template <class Number>
bool parse_number(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

/// A number with an optional K, M or G.
bool parse_size(std::string_view text, uint64_t* out) {
  int shift = 0;
  if (!text.empty()) {
    const char unit = text.back();
    shift = unit == 'K' || unit == 'k'   ? 10
            : unit == 'M' || unit == 'm' ? 20
            : unit == 'G' || unit == 'g' ? 30
                                         : 0;
    if (shift != 0) text.remove_suffix(1);
  }
  if (!parse_number(text, out) || *out > (UINT64_MAX >> shift)) return false;
  *out <<= shift;
  return true;
}

/// "oom:5" or "copy:2.5%".
bool parse_fault(std::string_view text, Fault* out) {
  constexpr std::pair<std::string_view, Fault::Kind> kKinds[] = {{"oom", Fault::kOom},
                                                                 {"copy", Fault::kCopy},
                                                                 {"kernel", Fault::kKernel},
                                                                 {"lost", Fault::kLost},
                                                                 {"hang", Fault::kHang}};
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  bool known = false;
  for (const auto& [word, kind] : kKinds) {
    if (text.substr(0, colon) != word) continue;
    out->kind = kind;
    known = true;
  }
  std::string_view number = text.substr(colon + 1);
  if (!known || number.empty()) return false;
  if (number.back() != '%') return parse_number(number, &out->nth) && out->nth > 0;
  number.remove_suffix(1);
  if (!parse_number(number, &out->chance)) return false;
  out->chance /= 100;
  return out->chance > 0 && out->chance <= 1;
}

template <class F>
bool for_each_word(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (!f(text.substr(0, comma))) return false;
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return true;
}

/// The word's value in a list, or false.
template <class T, size_t N>
bool choose(std::string_view word, const std::pair<std::string_view, T> (&list)[N], T* out) {
  for (const auto& [name, value] : list) {
    if (word != name) continue;
    *out = value;
    return true;
  }
  return false;
}

hal::Status parse_families(std::string_view text, std::string* out) {
  constexpr std::string_view kFamilies[] = {"map",    "reduce",    "matmul",     "conv",    "pool",
                                            "gather", "softmax",   "layer_norm", "scatter", "sort",
                                            "scan",   "attention", "rope"};
  const bool good = for_each_word(text, [&](std::string_view word) {
    if (word.ends_with("/1")) word.remove_suffix(2);
    for (const std::string_view family : kFamilies) {
      if (word != family) continue;
      *out += std::string(family) + ",";
      return true;
    }
    return word == "none";
  });
  if (!good) {
    return refuse(
        "kernels", text,
        "a list of map, reduce, matmul, conv, pool, gather, softmax, layer_norm, scatter, sort, "
        "scan, attention, rope, or none");
  }
  if (out->empty()) out->push_back(',');  // none at all
  return {};
}

/// Calls f(value) where option `key` is set, and to something.
template <class F>
hal::Status with(const char* key, F&& f) {
  const char* value = sdk::option(key);
  return value == nullptr || *value == '\0' ? hal::Status() : f(std::string(value));
}

hal::Status read_sizes(Options& o) {
  uint64_t count = 0;
  hal::Status status = with("devices", [&](const std::string& v) {
    if (!parse_number(v, &count) || count > 16) {
      return refuse("devices", v, "a number from 0 to 16");
    }
    o.devices = static_cast<uint32_t>(count);
    return hal::Status();
  });
  if (!status.ok()) return status;
  status = with("memory", [&](const std::string& v) {
    const bool good = parse_size(v, &o.memory) && o.memory >= 4096 && o.memory <= UINT64_C(1) << 40;
    return good ? hal::Status() : refuse("memory", v, "a size from 4K to 1024G, such as 64M");
  });
  if (!status.ok()) return status;
  status = with("pinned", [&](const std::string& v) {
    const bool good = parse_size(v, &o.pinned) && o.pinned <= UINT64_C(1) << 40;
    return good ? hal::Status() : refuse("pinned", v, "a size up to 1024G, such as 64M, or 0");
  });
  if (!status.ok()) return status;
  status = with("taken", [&](const std::string& v) {
    return parse_size(v, &o.taken) && o.taken <= o.memory
               ? hal::Status()
               : refuse("taken", v, "a size up to that of the memory, such as 64M");
  });
  if (!status.ok()) return status;
  status = with("bandwidth", [&](const std::string& v) {
    return parse_size(v, &o.bandwidth) ? hal::Status()
                                       : refuse("bandwidth", v, "bytes a second, such as 10G");
  });
  if (!status.ok()) return status;
  status = with("latency_us", [&](const std::string& v) {
    const bool good = parse_number(v, &o.latency_us) && o.latency_us <= 10000000;
    return good ? hal::Status() : refuse("latency_us", v, "microseconds, 0 to 10000000");
  });
  if (!status.ok()) return status;
  return with("seed", [&](const std::string& v) {
    return parse_number(v, &o.seed) ? hal::Status() : refuse("seed", v, "a whole number");
  });
}

hal::Status read_words(Options& o) {
  constexpr std::pair<std::string_view, Mode> kModes[] = {
      {"eager", Mode::kEager}, {"lazy", Mode::kLazy}, {"jitter", Mode::kJitter}};
  constexpr std::pair<std::string_view, PeerMode> kPeers[] = {
      {"on", PeerMode::kOn}, {"off", PeerMode::kOff}, {"lie", PeerMode::kLie}};
  constexpr std::pair<std::string_view, bool> kHandles[] = {{"address", false}, {"opaque", true}};
  hal::Status status =
      with("kernels", [&](const std::string& v) { return parse_families(v, &o.families); });
  if (!status.ok()) return status;
  status = with("mode", [&](const std::string& v) {
    return choose(v, kModes, &o.mode) ? hal::Status()
                                      : refuse("mode", v, "one of eager, lazy, jitter");
  });
  if (!status.ok()) return status;
  status = with("peer", [&](const std::string& v) {
    return choose(v, kPeers, &o.peer) ? hal::Status() : refuse("peer", v, "one of on, off, lie");
  });
  if (!status.ok()) return status;
  status = with("handles", [&](const std::string& v) {
    return choose(v, kHandles, &o.opaque_handles) ? hal::Status()
                                                  : refuse("handles", v, "one of address, opaque");
  });
  if (!status.ok()) return status;
  if (const char* name = sdk::option("name")) o.device_name = name;
  if (const char* vendor = sdk::option("vendor")) o.vendor = vendor;
  return with("faults", [&](const std::string& v) {
    const bool good = for_each_word(v, [&](std::string_view word) {
      Fault fault{};
      if (!parse_fault(word, &fault)) return false;
      o.faults.push_back(fault);
      return true;
    });
    return good ? hal::Status()
                : refuse("faults", v,
                         "a list such as oom:5,copy:2% of oom, copy, kernel, lost, hang with the "
                         "number of the call or a chance");
  });
}

}  // namespace

hal::Status read_options() {
  Options fresh;
  hal::Status status = read_sizes(fresh);
  if (status.ok()) status = read_words(fresh);
  if (status.ok()) current() = std::move(fresh);
  return status;
}

const Options& options() { return current(); }

}  // namespace ferry::sim
