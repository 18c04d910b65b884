// SPDX-License-Identifier: Apache-2.0
//
// Modules as text, in PyTorch's layout.
#include <ostream>
#include <typeinfo>

#include "nn/repr.h"
#include "nn/slots.h"

namespace ferry::nn {
namespace {

void append_line(std::string& out, size_t depth, const std::string& text) {
  out += '\n';
  out.append(2 * depth, ' ');
  out += text;
}

void print(const Module& module, size_t depth, std::string& out) {
  out += module.type_name() + "(";
  const Parts parts = parts_of(module);
  const std::string extra = module.extra_repr();
  if (parts.children().empty()) {
    out += extra + ")";
    return;
  }
  if (!extra.empty()) append_line(out, depth + 1, extra);
  std::string list;
  for (const Parts::Child& child : parts.children()) {
    if (child.list != list && !list.empty()) append_line(out, depth + 1, ")");
    if (child.list != list && !child.list.empty()) {
      append_line(out, depth + 1, "(" + child.list + "): ModuleList(");
    }
    list = child.list;
    const size_t own_name = list.empty() ? 0 : list.size() + 1;
    const size_t own_depth = list.empty() ? depth + 1 : depth + 2;
    append_line(out, own_depth, "(" + child.name.substr(own_name) + "): ");
    print(*child.module, own_depth, out);
  }
  if (!list.empty()) append_line(out, depth + 1, ")");
  append_line(out, depth, ")");
}

}  // namespace

std::string Module::type_name() const { return class_name(typeid(*this)); }

std::string Module::extra_repr() const { return {}; }

std::string Module::str() const {
  std::string out;
  print(*this, 0, out);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Module& module) { return out << module.str(); }

}  // namespace ferry::nn
