// SPDX-License-Identifier: Apache-2.0
//
// Texts for what the layers say: calls, and where in the program one was made.
#ifndef FERRY_RUNTIME_LAYERS_DESCRIBE_H
#define FERRY_RUNTIME_LAYERS_DESCRIBE_H

#include <array>
#include <cstdint>
#include <string>

#include "runtime/layers/layer.h"

namespace ferry::runtime::layers {

/// "f32[2, 3]"; strides too where they are not row-major.
std::string describe(const ferry_tensor& tensor);
/// The op that a launch is for, from the call itself: "add", "mul+exp" for a
/// fused program, "sum", "softmax"; or the family.
std::string op_of(const hal::Kernel& kernel, const ferry_call& call);
/// "add f32[2], f32[2] -> f32[2]".
std::string describe_launch(const hal::Kernel& kernel, const ferry_call& call);
/// "h2d of 4096 bytes" or the launch.
std::string describe(const Call& call);
bool is_contiguous(const ferry_tensor& tensor);
/// 0 for an unknown dtype.
uint64_t bytes_of(ferry_dtype dtype);
/// "1.5 MiB".
std::string in_units(uint64_t bytes);

/// Where a call came from: return addresses, named when they are needed.
class Origin {
 public:
  static constexpr int kShown = 8;
  /// The calling thread's stack.
  static Origin here();
  /// The innermost function of Ferry's interface in it, "ferry::matmul"; or empty.
  std::string op() const;
  /// Up to kShown frames from there outwards, with " < " between.
  std::string frames() const;
  friend bool operator<(const Origin& a, const Origin& b) { return a.frames_ < b.frames_; }

 private:
  static constexpr size_t kKept = 32;  // the library's own come first
  std::array<void*, kKept> frames_{};
};

}  // namespace ferry::runtime::layers

#endif  // FERRY_RUNTIME_LAYERS_DESCRIBE_H
