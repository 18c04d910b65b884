// SPDX-License-Identifier: Apache-2.0
//
// Drawing: a pixel becomes two characters of its shade, which is near square.
#include "draw.h"

#include <algorithm>
#include <array>

#include "table.h"

namespace ferry::tools {
namespace {

constexpr size_t kGap = 4;
constexpr std::array kBlocks = {" ", "░", "▒", "▓", "█"};
constexpr std::array kAscii = {" ", ".", "+", "#", "@"};

std::string shade(uint8_t pixel, uint8_t brightest, bool unicode) {
  const size_t top = kBlocks.size() - 1;
  const size_t level =
      brightest == 0 ? 0 : std::min<size_t>((pixel * top + brightest / 2) / brightest, top);
  return unicode ? kBlocks[level] : kAscii[level];
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width - std::min(width, text_width(text)), ' ');
}

size_t column_width(const Picture& picture) {
  size_t width = 2 * static_cast<size_t>(picture.width);
  for (const std::string& caption : picture.captions) {
    width = std::max(width, text_width(caption));
  }
  return width;
}

std::string row_of(const Picture& picture, int64_t row, uint8_t brightest, bool unicode) {
  std::string out;
  if (row >= picture.height) return out;
  for (int64_t x = 0; x < picture.width; ++x) {
    const uint8_t pixel = picture.pixels[static_cast<size_t>(row * picture.width + x)];
    const std::string cell = shade(pixel, brightest, unicode);
    out += cell + cell;
  }
  return out;
}

}  // namespace

std::string draw(std::span<const Picture> pictures, uint8_t brightest, bool unicode) {
  size_t count = 0, line_width = 0;
  while (count < pictures.size()) {
    line_width += column_width(pictures[count]) + kGap;
    if (line_width > kLineWidth + kGap) break;
    ++count;
  }
  pictures = pictures.first(count);

  int64_t height = 0;
  size_t captions = 0;
  for (const Picture& picture : pictures) {
    height = std::max(height, picture.height);
    captions = std::max(captions, picture.captions.size());
  }
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (const Picture& picture : pictures) {
      line += padded(cell_of(picture), column_width(picture) + kGap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  for (int64_t row = 0; row < height; ++row) {
    add_line([&](const Picture& p) { return row_of(p, row, brightest, unicode); });
  }
  for (size_t i = 0; i < captions; ++i) {
    add_line([&](const Picture& p) { return i < p.captions.size() ? p.captions[i] : ""; });
  }
  return out;
}

}  // namespace ferry::tools
