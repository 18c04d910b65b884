// SPDX-License-Identifier: Apache-2.0
//
// Module: the base of networks and layers. What it can do comes from the one
// line FERRY_MODULE that names the parts.
#ifndef FERRY_NN_MODULE_H
#define FERRY_NN_MODULE_H

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "ferry/export.h"
#include "ferry/nn/parts.h"
#include "ferry/state_dict.h"

namespace ferry::nn {

struct LoadOptions {
  /// Every key must be there, and no other.
  bool strict = true;
};

/// What load_state_dict() found. Without `strict` look at it.
struct LoadResult {
  std::vector<std::string> missing;     ///< in the module, not in the state dict
  std::vector<std::string> unexpected;  ///< in the state dict, not in the module
  /// Absent from the state dict, but loaded all the same: the module ties them
  /// to a parameter that was there.
  std::vector<std::string> tied;
};

/// How far Module::to() has come.
struct MoveProgress {
  std::string name;    ///< of the parameter or buffer that was moved last
  uint64_t done = 0;   ///< bytes moved or under way
  uint64_t total = 0;  ///< bytes of all parameters and buffers
};

struct MoveOptions {
  /// Called on the calling thread after each storage, the last time with done ==
  /// total. What it throws ends the move, and the module is as it was.
  std::function<void(const MoveProgress&)> progress;
};

/// Base of networks:
///
///   class Net : public nn::Module {
///    public:
///     nn::Linear fc1{10, 5};
///     nn::Linear fc2{5, 1};
///     FERRY_MODULE(fc1, fc2)
///     Tensor forward(const Tensor& x) const { return fc2(relu(fc1(x))); }
///   };
///
/// A value: a copy has layers of its own which share the parameters of the
/// original; clone() shares nothing. Const members may be called from several
/// threads at a time; others need the module and its tensors to themselves.
class FERRY_API Module {
 public:
  virtual ~Module();

  /// Adds the parts, in order. FERRY_MODULE defines it.
  virtual void list_parts(Parts& parts) = 0;

  // ---- Parts by name, as PyTorch names and orders them ---------------------
  /// Each tensor once, under its first name. Undefined ones are left out.
  std::vector<Tensor> parameters() const;
  std::vector<StateDict::Item> named_parameters() const;
  std::vector<StateDict::Item> named_buffers() const;
  /// This module as "", then those inside, each before its own parts. Pointers
  /// are valid until the module changes.
  std::vector<std::pair<std::string, Module*>> named_modules();
  std::vector<std::pair<std::string, const Module*>> named_modules() const;

  // ---- State -----------------------------------------------------------------
  /// Handles to all parameters and persistent buffers; tied ones under each of
  /// their names.
  StateDict state_dict() const;
  /// Writes the values of `state` into the module's tensors, which stay the
  /// same tensors, of the same dtype and device.
  ///
  /// Shapes must be equal (a 0-dim tensor takes [1] too). Floating values are
  /// converted to any floating dtype, others only where none can change; never
  /// the one to the other. All is checked first, and InvalidArgument names
  /// everything that does not fit; then room for conversion, one tensor a
  /// device at most, is taken (OutOfMemoryError). Up to there nothing was
  /// written. Only a device that fails meanwhile leaves some values loaded.
  LoadResult load_state_dict(const StateDict& state, LoadOptions options = {});

  // ---- Movement --------------------------------------------------------------
  /// Moves all parameters and buffers. Handles held elsewhere see the move;
  /// tensors that share a storage share it afterwards. All or nothing: on an
  /// error the module is as it was, so old and new exist together for a moment.
  /// Copies overlap on a stream of their own; they are done on return.
  Module& to(const Device& device, const MoveOptions& options = {});
  /// Converts floating parameters and buffers; others stay. InvalidArgument
  /// where `dtype` is not floating.
  Module& to(DType dtype, const MoveOptions& options = {});
  Module& to(const Device& device, DType dtype, const MoveOptions& options = {});

  // ---- Mode ------------------------------------------------------------------
  /// Training mode, which a new module has, or evaluation mode; of all inside.
  Module& train(bool training = true);
  Module& eval() { return train(false); }
  bool is_training() const noexcept { return training_; }

  // ---- Printing --------------------------------------------------------------
  /// As PyTorch prints modules.
  std::string str() const;
  /// The name in print: the class's own, without namespaces.
  virtual std::string type_name() const;
  /// What stands between the parentheses: "in_features=10, ...".
  virtual std::string extra_repr() const;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;

 private:
  bool training_ = true;
};

FERRY_API std::ostream& operator<<(std::ostream& out, const Module& module);

namespace detail {
/// Gives the module tensors of its own; those that were one tensor, or shared a
/// storage, still do.
FERRY_API void unshare(Module& module);
}  // namespace detail

/// A copy that shares nothing with `module`, on the same device, with the same
/// ties inside. On an error nothing has changed.
template <std::derived_from<Module> M>
M clone(const M& module) {
  M copy = module;
  detail::unshare(copy);
  return copy;
}

}  // namespace ferry::nn

#endif  // FERRY_NN_MODULE_H
