// SPDX-License-Identifier: Apache-2.0
//
// Draws the page of `ferry memory --html`: inline SVG, no scripts.
#include "memory_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "table.h"

namespace ferry::tools {
namespace {

constexpr double kWidth = 960, kHeight = 220;
constexpr double kLeft = 76, kRight = 12, kTop = 12, kBottom = 28;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBottom;
constexpr double kRow = 18, kRowGap = 6, kSegmentGap = 3;
constexpr size_t kMostSegments = 400;

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #fbfbfa; --text: #1f2328; --quiet: #656d76;
  --line: #d8dee4; --reserved: #9ec5e8; --allocated: #1f6fb2; --free: #dbe3ea; --alarm: #c2352b; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14181d; --text: #dfe4ea; --quiet: #97a1ac; --line: #353c45;
    --reserved: #2d4a66; --allocated: #5aa9ea; --free: #2a313a; --alarm: #ff7b72; } }
body { background: var(--page); color: var(--text); margin: 2rem auto; max-width: 61rem;
  padding: 0 1rem; font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.35rem; margin: 0 0 .3rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .2rem; }
p { margin: .2rem 0 .8rem; color: var(--quiet); }
svg { display: block; width: 100%; height: auto; margin: .4rem 0 1rem; }
text { font: 11px system-ui, sans-serif; fill: var(--quiet); }
.grid { stroke: var(--line); stroke-width: 1; } .limit { stroke: var(--alarm); stroke-dasharray: 5 4; }
.reserved { fill: var(--reserved); } .allocated { fill: var(--allocated); }
.free { fill: var(--free); } .alarm { stroke: var(--alarm); stroke-width: 1.5; }
.frame { fill: none; stroke: var(--quiet); stroke-width: .7; }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 1em; border-radius: 2px; }
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string size_text(uint64_t bytes) { return bytes == 0 ? "0" : bytes_text(bytes); }

std::string time_text(double us) {
  return us < 1e3   ? fmt::format("{:.0f} us", us)
         : us < 1e6 ? fmt::format("{:.4g} ms", us / 1e3)
                    : fmt::format("{:.4g} s", us / 1e6);
}

/// A round number at or above a quarter of `most`.
double step_of(double most) {
  const double quarter = std::max(most / 4, 1e-9);
  const double power = std::pow(10, std::floor(std::log10(quarter)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * power >= quarter) return factor * power;
  }
  return 10 * power;
}

/// For bytes the round numbers are powers of two.
double byte_step_of(double most) {
  return std::exp2(std::ceil(std::log2(std::max(most / 4, 1.0))));
}

/// The highest samples of each pixel, so that no peak is lost between two.
std::vector<MemoryRecord::Sample> thinned(const std::vector<MemoryRecord::Sample>& samples,
                                          double end) {
  std::vector<MemoryRecord::Sample> out;
  for (const MemoryRecord::Sample& s : samples) {
    const double pixel = std::floor(s.microseconds / end * kPlotWidth);
    if (out.size() < 2 || std::floor(out.back().microseconds / end * kPlotWidth) != pixel ||
        std::floor(out[out.size() - 2].microseconds / end * kPlotWidth) != pixel) {
      out.push_back(s);  // the first two of a pixel: its highest, and its last
      continue;
    }
    MemoryRecord::Sample& highest = out[out.size() - 2];
    highest.allocated = std::max(highest.allocated, s.allocated);
    highest.reserved = std::max(highest.reserved, s.reserved);
    out.back() = s;
  }
  return out;
}

struct Scale {
  double end, most;
  double x(double us) const { return kLeft + us / end * kPlotWidth; }
  double y(double bytes) const { return kTop + kPlotHeight - bytes / most * kPlotHeight; }
};

/// The area below a step curve.
std::string area(const std::vector<MemoryRecord::Sample>& samples, const Scale& scale,
                 uint64_t MemoryRecord::Sample::*what, const char* style) {
  std::string path = fmt::format("M{:.1f},{:.1f}", scale.x(0), scale.y(0));
  for (const MemoryRecord::Sample& s : samples) {
    fmt::format_to(std::back_inserter(path), "H{:.1f}V{:.1f}", scale.x(s.microseconds),
                   scale.y(static_cast<double>(s.*what)));
  }
  return fmt::format("<path class=\"{}\" d=\"{}H{:.1f}V{:.1f}Z\"/>\n", style, path,
                     scale.x(scale.end), scale.y(0));
}

std::string axes(const Scale& scale) {
  std::string out;
  const double bytes = byte_step_of(scale.most);
  for (double b = 0; b <= scale.most; b += bytes) {
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, kWidth - kRight, scale.y(b), kLeft - 8, scale.y(b) + 4,
        size_text(static_cast<uint64_t>(b)));
  }
  const double time = step_of(scale.end);
  for (double t = 0; t <= scale.end; t += time) {
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", scale.x(t),
                       kHeight - 8, t == 0 ? "0" : time_text(t));
  }
  return out;
}

std::string curve(const MemoryRecord& record, double end) {
  uint64_t most = std::max<uint64_t>(record.stats.limit, 1);
  for (const MemoryRecord::Sample& s : record.samples) most = std::max(most, s.reserved);
  const Scale scale{end, static_cast<double>(most) * 1.05};
  const auto samples = thinned(record.samples, end);
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Memory of {} over time\">\n", kWidth,
      kHeight, escaped(record.name));
  out += area(samples, scale, &MemoryRecord::Sample::reserved, "reserved");
  out += area(samples, scale, &MemoryRecord::Sample::allocated, "allocated");
  out += axes(scale);
  if (record.stats.limit != 0) {
    out += fmt::format(
        "<line class=\"limit\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\">"
        "<title>limit {3}</title></line>\n",
        kLeft, kWidth - kRight, scale.y(static_cast<double>(record.stats.limit)),
        size_text(record.stats.limit));
  }
  for (const MemoryRecord::Sample& s : record.samples) {
    if (s.refused == 0) continue;
    out += fmt::format(
        "<line class=\"alarm\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\">"
        "<title>no room for {3}</title></line>\n",
        scale.x(s.microseconds), kTop, kTop + kPlotHeight, size_text(s.refused));
  }
  return out + "</svg>\n";
}

/// Segments one after the other in rows, all to one scale.
std::string map(const MemoryRecord& record) {
  std::vector<MemorySegment> segments = record.segments;
  std::stable_sort(segments.begin(), segments.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  const size_t left_out = segments.size() - std::min(segments.size(), kMostSegments);
  segments.resize(segments.size() - left_out);
  uint64_t sum = 0;
  for (const MemorySegment& s : segments) sum += s.bytes;
  // The largest fills at most a row; few of them fill one together.
  const double whole = kWidth - 2;
  const double per_byte =
      whole / std::max({static_cast<double>(segments.empty() ? 1 : segments[0].bytes),
                        static_cast<double>(sum) / 8, 1.0});
  std::string body;
  double x = 1, y = 1;
  for (const MemorySegment& segment : segments) {
    const double width = std::max(2.0, static_cast<double>(segment.bytes) * per_byte - kSegmentGap);
    if (x > 1 && x + width > kWidth) {
      x = 1;
      y += kRow + kRowGap;
    }
    for (const MemorySegment::Piece& block : segment.blocks) {
      const double share = width / static_cast<double>(std::max<uint64_t>(segment.bytes, 1));
      body += fmt::format(
          "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\">"
          "<title>{} of {}, from {}, {}</title></rect>\n",
          block.in_use ? "allocated" : "free", x + static_cast<double>(block.offset) * share, y,
          std::max(0.3, static_cast<double>(block.bytes) * share), kRow, size_text(block.bytes),
          size_text(segment.bytes), size_text(block.offset), block.in_use ? "in use" : "free");
    }
    body += fmt::format(
        "<rect class=\"frame\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"/>\n", x, y,
        width, kRow);
    x += width + kSegmentGap;
  }
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"Segments of {}\">\n{}</svg>\n",
      kWidth, y + kRow + 2, escaped(record.name), body);
  if (left_out > 0) out += fmt::format("<p>{} smaller segments are left out.</p>\n", left_out);
  return out;
}

std::string section(const MemoryRecord& record, double end) {
  const MemoryStats& s = record.stats;
  std::string out = fmt::format(
      "<h2>{}</h2>\n<p>{} in tensors, {} at most; {} from the driver, {} at "
      "most{}. {} allocations, {} of them from the driver{}.</p>\n",
      escaped(record.name), size_text(s.allocated), size_text(s.peak_allocated),
      size_text(s.reserved), size_text(s.peak_reserved),
      record.total == 0 ? "" : ", of " + size_text(record.total), s.allocations,
      s.driver_allocations,
      s.out_of_memory == 0 ? "" : fmt::format("; {} times out of memory", s.out_of_memory));
  out += record.samples.empty() ? "<p>Nothing was recorded of it.</p>\n" : curve(record, end);
  if (record.segments.empty()) return out + "<p>It holds no segment at the end.</p>\n";
  return out +
         fmt::format("<p>{} {} at the end:</p>\n", record.segments.size(),
                     record.segments.size() == 1 ? "segment" : "segments") +
         map(record);
}

}  // namespace

std::string memory_page(const MemoryHistory& history, const std::string& title) {
  double end = 1;
  for (const MemoryRecord& record : history.records) {
    if (!record.samples.empty()) end = std::max(end, record.samples.back().microseconds);
  }
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Memory of {0}</title>\n"
      "<style>{1}</style>\n</head>\n<body>\n<h1>Memory of {0}</h1>\n<p>{2} events over {3}{4}. "
      "<span class=\"key\" style=\"background:var(--allocated)\"></span>in tensors "
      "<span class=\"key\" style=\"background:var(--reserved)\"></span>obtained from the driver "
      "<span class=\"key\" style=\"background:var(--free)\"></span>free within a segment "
      "<span class=\"key\" style=\"background:var(--alarm)\"></span>no room, or the limit</p>\n",
      escaped(title), kStyle, history.events, time_text(end),
      history.dropped == 0 ? "" : fmt::format(", {} earlier ones dropped", history.dropped));
  for (const MemoryRecord& record : history.records) out += section(record, end);
  return out + "</body>\n</html>\n";
}

}  // namespace ferry::tools
