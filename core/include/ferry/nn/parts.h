// SPDX-License-Identifier: Apache-2.0
//
// Parts: the named parts of one module, and FERRY_MODULE, which lists them.
#ifndef FERRY_NN_PARTS_H
#define FERRY_NN_PARTS_H

#include <concepts>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ferry/export.h"
#include "ferry/nn/parameter.h"

namespace ferry::nn {

class Module;

/// Collects the parts of one module in order. Holds pointers: valid until the
/// module changes.
class FERRY_API Parts {
 public:
  struct NamedParameter {
    std::string name;
    Parameter* parameter;
  };
  struct NamedBuffer {
    std::string name;
    Buffer* buffer;
  };
  struct Child {
    std::string name;
    Module* module;
    std::string list;  ///< name of the vector it is in, or empty
  };

  void add(std::string_view name, Parameter& parameter);
  void add(std::string_view name, Buffer& buffer);
  void add(std::string_view name, Module& module);
  /// The elements of a vector or array of modules, as "name.0", "name.1", ...
  template <std::ranges::forward_range R>
  requires std::derived_from<std::ranges::range_value_t<R>, Module>
  void add(std::string_view name, R& modules) {
    size_t index = 0;
    for (Module& module : modules) add_element(name, index++, module);
  }
  /// Nothing where it is empty.
  template <std::derived_from<Module> M>
  void add(std::string_view name, std::optional<M>& module) {
    if (module) add(name, static_cast<Module&>(*module));
  }
  /// `names` are those of `members` as written, separated by commas. A trailing
  /// underscore is left out: `weight_` is "weight".
  template <class... Members>
  void add_all([[maybe_unused]] std::string_view names, Members&... members) {
    (add_member(next_name(names), members), ...);
  }

  const std::vector<NamedParameter>& parameters() const noexcept { return parameters_; }
  const std::vector<NamedBuffer>& buffers() const noexcept { return buffers_; }
  const std::vector<Child>& children() const noexcept { return children_; }

 private:
  template <class T>
  void add_member(std::string_view name, T& member) {
    static_assert(
        requires { add(name, member); },
        "FERRY_MODULE takes nn::Parameter, nn::Buffer, modules, and vectors or "
        "std::optional of modules; wrap a Tensor in one of the first two");
    if constexpr (requires { add(name, member); }) add(name, member);
  }
  void add_element(std::string_view list, size_t index, Module& module);
  static std::string_view next_name(std::string_view& names);
  void check_new(std::string_view name) const;

  std::vector<NamedParameter> parameters_;
  std::vector<NamedBuffer> buffers_;
  std::vector<Child> children_;
};

}  // namespace ferry::nn

/// Names the parts of a module: members that are Parameter, Buffer, modules, or
/// vectors or std::optional of modules, in the order of the state dict; members
/// of a base class too. Once in the public part of a class that derives from
/// nn::Module and has `forward`; not in a class local to a function. Defines
/// list_parts() and operator(), which calls forward.
#define FERRY_MODULE(...)                                                      \
  void list_parts([[maybe_unused]] ::ferry::nn::Parts& ferry_parts) override { \
    ferry_parts.add_all(#__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__);              \
  }                                                                            \
  template <class... FerryArgs>                                                \
  decltype(auto) operator()(FerryArgs&&... ferry_args) const {                 \
    return this->forward(::std::forward<FerryArgs>(ferry_args)...);            \
  }                                                                            \
  template <class... FerryArgs>                                                \
  decltype(auto) operator()(FerryArgs&&... ferry_args) {                       \
    return this->forward(::std::forward<FerryArgs>(ferry_args)...);            \
  }

#endif  // FERRY_NN_PARTS_H
