// SPDX-License-Identifier: Apache-2.0
//
// Stacking examples to a batch: one copy for each, without a kernel.
#include <cstring>

#include <fmt/format.h>

#include "ferry/data/loader.h"
#include "ferry/error.h"
#include "ferry/shape_ops.h"

namespace ferry::data {
namespace {

Tensor stack_member(const std::vector<Example>& examples, Tensor Example::*member,
                    const char* what) {
  const Tensor& first = examples.front().*member;
  bool on_host = first.defined() && first.device() == Device();
  for (size_t i = 1; i < examples.size(); ++i) {
    const Tensor& t = examples[i].*member;
    if (t.defined() != first.defined())
      throw InvalidArgument("collate", fmt::format("{} {} of the batch is {}defined, the first is "
                                                   "not so; give all or none",
                                                   what, i, t.defined() ? "" : "un"));
    if (!t.defined()) continue;
    if (t.shape() != first.shape() || t.dtype() != first.dtype())
      throw InvalidArgument(
          "collate", fmt::format("{} {} of the batch is {} {}, the first is {} {}; resize or crop "
                                 "them to one shape, or give a collate of your own",
                                 what, i, name(t.dtype()), to_string(t.shape()),
                                 name(first.dtype()), to_string(first.shape())));
    on_host = on_host && t.device() == Device();
  }
  if (!first.defined()) return {};
  std::vector<Tensor> parts;
  parts.reserve(examples.size());
  for (const Example& e : examples) parts.push_back(e.*member);
  if (!on_host) return stack(parts);
  Shape shape = first.shape();
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  Tensor out = empty(shape, {first.dtype(), Device()});
  const size_t bytes = first.nbytes();
  if (bytes == 0) return out;
  auto* to = static_cast<char*>(out.data_ptr());
  for (const Tensor& part : parts) {
    std::memcpy(to, part.contiguous().data_ptr(), bytes);
    to += bytes;
  }
  return out;
}

}  // namespace

Example stack_examples(const std::vector<Example>& examples) {
  if (examples.empty()) throw InvalidArgument("collate", "a batch needs at least one example");
  return {stack_member(examples, &Example::data, "input"),
          stack_member(examples, &Example::target, "target")};
}

}  // namespace ferry::data
