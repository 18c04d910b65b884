// SPDX-License-Identifier: Apache-2.0
//
// What of a state dict fits a module, and one message about all that does not.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ferry/error.h"
#include "nn/load.h"
#include "tensor/tensor_impl.h"

namespace ferry::nn {
namespace {

constexpr size_t kShown = 10;  // names of a kind in a message

/// Whether values of `from` may be written to `to`: never between floating and
/// other dtypes, and never where an integer could change.
bool converts(DType from, DType to) {
  if (is_floating_point(from) != is_floating_point(to)) return false;
  return is_floating_point(from) || promote_types(from, to) == to;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (same_view(a, b)) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  std::vector<std::byte> left(a.nbytes()), right(b.nbytes());
  a.copy_to_host(left.data(), a.dtype());
  b.copy_to_host(right.data(), b.dtype());
  return left == right;
}

/// What is wrong with `source` for `target`, or empty.
std::string mismatch(const Tensor& target, const Tensor& source) {
  if (!source.defined()) return "is undefined in the state dict";
  const Shape shape = target.shape();
  const Shape given = source.shape();
  const bool scalar = shape.empty() && given == Shape{1};
  if (shape != given && !scalar) {
    return "is " + to_string(shape) + " in the module and " + to_string(given) +
           " in the state dict";
  }
  if (!converts(source.dtype(), target.dtype())) {
    return "is " + std::string(name(target.dtype())) + " in the module and " +
           std::string(name(source.dtype())) + " in the state dict, which may lose values";
  }
  const ferry::detail::TensorImpl& impl = *target.impl();
  if (ferry::detail::may_overlap_itself(impl.shape(), impl.strides())) {
    return "has elements that share memory in the module; give it a clone()";
  }
  return {};
}

void append_list(std::string& text, const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return;
  text +=
      "\n  " + std::to_string(names.size()) + ' ' + what + (names.size() == 1 ? "" : "s") + ": ";
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  if (names.size() > kShown) text += ", ... " + std::to_string(names.size() - kShown) + " more";
}

[[noreturn]] void refuse(const Module& module, const LoadResult& found,
                         const std::vector<std::string>& problems, bool strict) {
  std::string text = "the state dict does not fit " + module.type_name() + "; nothing was loaded";
  if (strict) {
    append_list(text, "missing key", found.missing);
    append_list(text, "unexpected key", found.unexpected);
  }
  for (size_t i = 0; i < std::min(problems.size(), kShown); ++i) text += "\n  " + problems[i];
  if (problems.size() > kShown) {
    text += "\n  ... " + std::to_string(problems.size() - kShown) + " more that do not fit";
  }
  const std::string advice = prefix_advice(found.missing, found.unexpected);
  if (!advice.empty()) text += "\n  " + advice;
  throw InvalidArgument("load_state_dict", text);
}

/// Matches slots with keys and gathers what is wrong.
class Matcher {
 public:
  Matcher(const std::vector<Slot>& slots, const StateDict& state) : slots_(slots), state_(state) {}

  void match() {
    for (const Slot& slot : slots_) {
      if (!slot.in_state_dict()) continue;
      expected_.insert(slot.name);
      if (const Tensor* source = state_.find(slot.name)) {
        take(slot, *source);
      } else {
        absent_.push_back(&slot);
      }
    }
    for (const Slot* slot : absent_) {
      (find(*slot->tensor) != nullptr ? plan.result.tied : plan.result.missing)
          .push_back(slot->name);
    }
    for (const auto& [name, tensor] : state_) {
      if (!expected_.contains(name)) plan.result.unexpected.push_back(name);
    }
  }

  LoadPlan plan;
  std::vector<std::string> problems;

 private:
  /// The assignment to the same elements, if there is one.
  const Assignment* find(const Tensor& target) const {
    const auto found = by_storage_.equal_range(target.impl()->storage);
    for (auto at = found.first; at != found.second; ++at) {
      const Assignment& a = plan.assignments[at->second];
      if (same_view(a.target, target)) return &a;
    }
    return nullptr;
  }

  void take(const Slot& slot, const Tensor& source) {
    const Tensor& target = *slot.tensor;
    if (std::string problem = mismatch(target, source); !problem.empty()) {
      problems.push_back("'" + slot.name + "' " + problem);
      return;
    }
    if (const Assignment* first = find(target)) {
      if (!same_bytes(first->source, source)) {
        problems.push_back("'" + slot.name + "' and '" + first->name +
                           "' are one tensor in the module, but differ in the state dict");
      }
      return;
    }
    by_storage_.emplace(target.impl()->storage, plan.assignments.size());
    plan.assignments.push_back({slot.name, target, source});
  }

  const std::vector<Slot>& slots_;
  const StateDict& state_;
  std::unordered_set<std::string_view> expected_;
  std::vector<const Slot*> absent_;
  std::unordered_multimap<const void*, size_t> by_storage_;
};

}  // namespace

std::string prefix_advice(const std::vector<std::string>& missing,
                          const std::vector<std::string>& unexpected) {
  if (missing.empty() || unexpected.empty()) return {};
  // The prefix that would turn `from` into names of `to`, if one does for all.
  const auto prefix = [](const std::vector<std::string>& from, const std::vector<std::string>& to) {
    const std::unordered_set<std::string> names(to.begin(), to.end());
    for (const std::string& name : to) {
      if (!name.ends_with("." + from[0])) continue;
      std::string candidate = name.substr(0, name.size() - from[0].size());
      const bool all = std::all_of(from.begin(), from.end(), [&](const std::string& n) {
        return names.contains(candidate + n);
      });
      if (all) return candidate;
    }
    return std::string();
  };
  if (const std::string p = prefix(missing, unexpected); !p.empty()) {
    return "the missing keys are there with the prefix \"" + p + "\": load state.strip_prefix(\"" +
           p + "\")";
  }
  if (const std::string p = prefix(unexpected, missing); !p.empty()) {
    return "the unexpected keys fit with the prefix \"" + p + "\": load state.add_prefix(\"" + p +
           "\")";
  }
  return {};
}

LoadPlan plan_load(const Module& module, const StateDict& state, LoadOptions options) {
  const std::vector<Slot> slots = slots_of(module);
  Matcher matcher(slots, state);
  matcher.match();
  const LoadResult& found = matcher.plan.result;
  const bool names_fit = found.missing.empty() && found.unexpected.empty();
  if (!matcher.problems.empty() || (options.strict && !names_fit)) {
    refuse(module, found, matcher.problems, options.strict);
  }
  return std::move(matcher.plan);
}

}  // namespace ferry::nn
