// SPDX-License-Identifier: Apache-2.0
//
// KernelRunner: puts a case's operands into memory in a chosen layout, launches
// the kernel, and looks at what changed.
#ifndef FERRY_TOOLS_VERIFY_KERNEL_RUN_H
#define FERRY_TOOLS_VERIFY_KERNEL_RUN_H

#include <memory>
#include <string>
#include <vector>

#include "kernel_case.h"
#include "stream.h"

namespace ferry::verify {

/// How tensors lie in their blocks.
struct Layout {
  uint64_t before = 0;  ///< items in front of the first element
  uint64_t after = 0;   ///< bytes behind the last one
  enum Strides { kContiguous, kGaps, kTurned } strides = kContiguous;
  bool on_stream = false;
};

/// What a launch left behind.
struct Seen {
  std::vector<Array> out;
  std::vector<Bytes> raw;  ///< the outputs' bytes, in row-major order
  std::string outside;     ///< a byte outside of the outputs that changed, or nothing
  std::string inputs;      ///< a byte of an input that changed, or nothing
};

class KernelRunner {
 public:
  explicit KernelRunner(const std::string& path);

  const Plugin& plugin() const { return bench_.plugin; }
  /// The plugin's kernels of a family, named without its revision.
  std::vector<const ferry_kernel*> kernels_of(const std::string& family) const;

  /// False where the kernel declines. Fails where the call does.
  bool run(const ferry_kernel& kernel, const KernelCase& c, const Layout& layout, Seen* seen);
  /// What check (where there is one) and launch answer, the launch being waited
  /// for; fails nothing.
  ferry_rc try_run(const ferry_kernel& kernel, const KernelCase& c, Seen* seen);

 private:
  struct Placed;
  ferry_rc answer_of(const ferry_kernel& kernel, const KernelCase& c, const Layout& layout,
                     Seen* seen, bool* declined);
  Placed place(ferry_dtype dtype, const std::vector<int64_t>& shape, uint32_t repeated,
               const Layout& layout);
  void look(const KernelCase& c, std::vector<Placed>& in, std::vector<Placed>& out, Seen* seen);

  Bench bench_;
  std::unique_ptr<OpenStream> stream_;
};

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_KERNEL_RUN_H
