// SPDX-License-Identifier: Apache-2.0
//
// Pictures of digits in the terminal.
#ifndef FERRY_TOOLS_DRAW_H
#define FERRY_TOOLS_DRAW_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ferry::tools {

/// A grey picture and what stands below it.
struct Picture {
  std::span<const uint8_t> pixels;  ///< row-major, `height` * `width`
  int64_t height = 0, width = 0;
  std::vector<std::string> captions;
};

/// The pictures side by side, as many as fit the line. `brightest` is the value
/// of a fully lit pixel. Shade blocks where `unicode`, else ASCII.
std::string draw(std::span<const Picture> pictures, uint8_t brightest, bool unicode);

}  // namespace ferry::tools

#endif  // FERRY_TOOLS_DRAW_H
