// SPDX-License-Identifier: Apache-2.0
//
// Printing as PyTorch does: four digits, one format for all elements, the
// middle of big tensors left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "ferry/tensor.h"
#include "tensor/tensor_impl.h"

namespace ferry {
namespace {

constexpr int kPrecision = 4;
constexpr int64_t kThreshold = 1000;  // elements, above which the middle is left out
constexpr int64_t kEdge = 3;          // elements shown at either end of a dimension
constexpr size_t kLineWidth = 80;

std::string join(const std::vector<std::string>& parts, const std::string& between) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += between;
    out += part;
  }
  return out;
}

/// The elements to show, in row-major order on the host, as texts of one width.
class Elements {
 public:
  explicit Elements(const Tensor& shown) {
    if (is_floating_point(shown.dtype())) {
      const Tensor wide = shown.to(Device(), kF64);
      format_floating(wide.to_vector<double>());
    } else if (shown.dtype() == kBool) {
      for (const uint8_t v : shown.to(Device(), kU8).to_vector<uint8_t>()) {
        texts_.emplace_back(v != 0 ? "True" : "False");
      }
    } else {
      for (const int64_t v : shown.to(Device(), kI64).to_vector<int64_t>()) {
        texts_.push_back(std::to_string(v));
      }
    }
    if (!is_floating_point(shown.dtype())) {
      for (const std::string& t : texts_) width_ = std::max(width_, t.size());
    }
    for (std::string& t : texts_) {
      if (t.size() < width_) t.insert(0, width_ - t.size(), ' ');
    }
  }

  size_t width() const { return width_; }
  const std::string& next() { return texts_[at_++]; }

 private:
  void format_floating(const std::vector<double>& values) {
    double least = INFINITY;
    double most = 0;
    bool whole = true;
    for (const double v : values) {
      if (!std::isfinite(v) || v == 0) continue;
      least = std::min(least, std::fabs(v));
      most = std::max(most, std::fabs(v));
      whole = whole && v == std::ceil(v);
    }
    const bool any = most > 0;
    const bool scientific = any && (most / least > 1000 || most > 1e8 || (!whole && least < 1e-4));
    for (const double v : values) {
      std::string text = scientific ? fmt::format("{:.{}e}", v, kPrecision)
                         : whole    ? fmt::format("{:.0f}", v)
                                    : fmt::format("{:.{}f}", v, kPrecision);
      // PyTorch sizes the column by the ordinary values alone.
      if (!scientific && whole && std::isfinite(v)) text += '.';
      if (std::isfinite(v) && v != 0) width_ = std::max(width_, text.size());
      texts_.push_back(std::move(text));
    }
  }

  std::vector<std::string> texts_;
  size_t width_ = 1;
  size_t at_ = 0;
};

/// Writes nested brackets over the shape; a dimension longer than the shown
/// part gets dots.
class Writer {
 public:
  Writer(const Shape& full, bool summarise, Elements elements)
      : shape_(full), summarise_(summarise), elements_(std::move(elements)) {}

  std::string write(size_t d, size_t indent) {
    if (shape_.empty()) return elements_.next();
    if (d + 1 == shape_.size()) return row(indent);
    std::vector<std::string> parts;
    const bool cut = is_cut(d);
    const int64_t n = cut ? 2 * kEdge : shape_[d];
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == kEdge) parts.emplace_back("...");
      parts.push_back(write(d + 1, indent + 1));
    }
    const std::string between =
        "," + std::string(shape_.size() - d - 1, '\n') + std::string(indent + 1, ' ');
    return "[" + join(parts, between) + "]";
  }

 private:
  bool is_cut(size_t d) const { return summarise_ && shape_[d] > 2 * kEdge; }

  std::string row(size_t indent) {
    const size_t d = shape_.size() - 1;
    const bool cut = is_cut(d);
    const int64_t n = cut ? 2 * kEdge : shape_[d];
    const size_t room = kLineWidth > indent ? kLineWidth - indent : 0;
    const size_t on_line = std::max<size_t>(1, room / (elements_.width() + 2));
    std::string out = "[";
    size_t written = 0;
    const auto put = [&](const std::string& text) {
      if (written > 0) {
        out += written % on_line == 0 ? ",\n" + std::string(indent + 1, ' ') : ", ";
      }
      out += text;
      ++written;
    };
    for (int64_t i = 0; i < n; ++i) {
      if (cut && i == kEdge) put(" ...");
      put(elements_.next());
    }
    return out + "]";
  }

  const Shape& shape_;
  bool summarise_;
  Elements elements_;
};

/// The first and last kEdge of each long dimension, joined.
Tensor edges_of(const Tensor& tensor) {
  const Shape full = tensor.shape();
  Shape shape = full;
  for (int64_t& s : shape) s = std::min(s, 2 * kEdge);
  Tensor out = empty(shape, TensorOptions(tensor.dtype(), tensor.device()));
  // Corner `c` takes the far end of dimension d where its bit d is set.
  for (uint32_t c = 0; c < 1u << full.size(); ++c) {
    Tensor from = tensor;
    Tensor to = out;
    bool there = true;
    for (size_t d = 0; d < full.size(); ++d) {
      const bool far = (c >> d & 1) != 0;
      const auto dim = static_cast<int64_t>(d);
      if (full[d] <= 2 * kEdge) {
        there = there && !far;
        continue;
      }
      from = from.narrow(dim, far ? full[d] - kEdge : 0, kEdge);
      to = to.narrow(dim, far ? kEdge : 0, kEdge);
    }
    if (there) to.copy_(from);
  }
  return out;
}

/// Adds ", text", on a new line where the last one would become too long.
void add_suffix(std::string& out, size_t indent, const std::string& text) {
  const size_t line = out.size() - (out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1);
  out += line + text.size() + 4 > kLineWidth ? ",\n" + std::string(indent, ' ') : ", ";
  out += text;
}

}  // namespace

std::string Tensor::str() const {
  if (!defined()) return "tensor(undefined)";
  constexpr size_t kIndent = 7;  // of "tensor("
  const Shape full = shape();
  const DType type = dtype();
  std::string out = "tensor(";
  std::vector<std::string> suffixes;
  if (!device().is_cpu()) suffixes.push_back("device='" + device().str() + "'");
  if (numel() == 0) {
    out += "[]";
    if (full.size() != 1) {
      const std::string sizes = to_string(full);  // "[2, 0]"
      suffixes.push_back("size=(" + sizes.substr(1, sizes.size() - 2) + ")");
    }
    if (type != kF32) suffixes.push_back("dtype=" + std::string(name(type)));
  } else {
    if (type != kF32 && type != kI64 && type != kBool) {
      suffixes.push_back("dtype=" + std::string(name(type)));
    }
    const bool summarise = numel() > kThreshold;
    out += Writer(full, summarise, Elements(summarise ? edges_of(*this) : *this)).write(0, kIndent);
  }
  for (const std::string& s : suffixes) add_suffix(out, kIndent, s);
  return out + ")";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.str(); }

}  // namespace ferry
