// SPDX-License-Identifier: Apache-2.0
//
// Sequential: layers of any kind, one after the other.
#ifndef FERRY_NN_SEQUENTIAL_H
#define FERRY_NN_SEQUENTIAL_H

#include <concepts>
#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "ferry/nn/module.h"

namespace ferry::nn {

/// A module that turns one tensor into one.
template <class M>
concept UnaryModule = std::derived_from<M, Module> && requires(const M& module, const Tensor& x) {
  { module.forward(x) } -> std::convertible_to<Tensor>;
};

/// Holds a module of any UnaryModule type, by value.
class FERRY_API Layer {
 public:
  template <UnaryModule M>
  Layer(M module) : held_(std::make_unique<Holder<M>>(std::move(module))) {}  // NOLINT
  Layer(const Layer& other) : held_(other.held_ ? other.held_->copy() : nullptr) {}
  Layer(Layer&&) noexcept = default;
  Layer& operator=(Layer other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }
  ~Layer();

  Tensor operator()(const Tensor& x) const { return held_->run(x); }

  Module& module() noexcept { return held_->module(); }
  const Module& module() const noexcept { return held_->module(); }
  /// The module as what it is. InvalidArgument where it is another type.
  template <std::derived_from<Module> M>
  M& as() {
    if (M* found = dynamic_cast<M*>(&module())) return *found;
    throw_wrong_type(typeid(M));
  }
  template <std::derived_from<Module> M>
  const M& as() const {
    return const_cast<Layer*>(this)->as<M>();
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual std::unique_ptr<Held> copy() const = 0;
    virtual Tensor run(const Tensor& x) const = 0;
    virtual Module& module() noexcept = 0;
  };
  template <class M>
  struct Holder final : Held {
    explicit Holder(M m) : value(std::move(m)) {}
    std::unique_ptr<Held> copy() const override { return std::make_unique<Holder>(value); }
    Tensor run(const Tensor& x) const override { return value.forward(x); }
    Module& module() noexcept override { return value; }
    M value;
  };
  [[noreturn]] void throw_wrong_type(const std::type_info& wanted) const;

  std::unique_ptr<Held> held_;
};

class Sequential;

/// Some modules to run in order. A single Sequential, or what derives from it,
/// is none: that is copied.
template <class... Layers>
concept LayerList = sizeof...(Layers) > 0 &&
                    (sizeof...(Layers) > 1 ||
                     (!std::derived_from<std::remove_cvref_t<Layers>, Sequential> && ...)) &&
                    (UnaryModule<std::remove_cvref_t<Layers>> && ...);

/// Runs its layers in order; without any it hands x on. Their names are "0",
/// "1", ... As with a vector, Sequential(Sequential(...)) is a copy.
class FERRY_API Sequential : public Module {
 public:
  Sequential() = default;
  template <class... Layers>
  requires LayerList<Layers...>
  explicit Sequential(Layers&&... layers) {
    layers_.reserve(sizeof...(layers));
    (layers_.emplace_back(std::forward<Layers>(layers)), ...);
  }

  void list_parts(Parts& parts) override;
  Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const { return forward(x); }

  void push_back(Layer layer) { layers_.push_back(std::move(layer)); }
  size_t size() const noexcept { return layers_.size(); }
  /// InvalidArgument where there is no such layer; negative counts from the end.
  Layer& operator[](int64_t index);
  const Layer& operator[](int64_t index) const;
  auto begin() noexcept { return layers_.begin(); }
  auto end() noexcept { return layers_.end(); }
  auto begin() const noexcept { return layers_.begin(); }
  auto end() const noexcept { return layers_.end(); }

 private:
  std::vector<Layer> layers_;
};

}  // namespace ferry::nn

#endif  // FERRY_NN_SEQUENTIAL_H
