// SPDX-License-Identifier: Apache-2.0
//
// DataParallel: one batch over several devices, of one vendor or many.
#ifndef FERRY_NN_DATA_PARALLEL_H
#define FERRY_NN_DATA_PARALLEL_H

#include <concepts>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ferry/nn/module.h"

namespace ferry::nn {

/// Cuts the first dimension into pieces of ceil(n / devices) rows, the last one
/// smaller, and moves each to its device: 5 rows on 4 devices make 2, 2, 1. No
/// rows make one empty piece, on the first device. InvalidArgument without
/// devices or dimensions.
FERRY_API std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices);
/// Moves the parts to `device` and joins them along the first dimension.
FERRY_API Tensor gather(const std::vector<Tensor>& parts, const Device& device);

namespace detail {
/// InvalidArgument where a device is named twice, or a parameter or buffer is not
/// on the first one; the text names it.
FERRY_API void check_data_parallel(const Module& module, const std::vector<Device>& devices);
/// Runs each on a thread of its own, the first on this one, with `devices[i]` as
/// the current device. Waits for all, then throws what the first of them threw.
FERRY_API void parallel_apply(const std::vector<std::function<void()>>& calls,
                              const std::vector<Device>& devices);
FERRY_API void check_pieces(size_t argument, size_t got, size_t wanted);

template <class T>
auto scatter_argument(const T& value, const std::vector<Device>& devices) {
  if constexpr (std::same_as<T, Tensor>)
    return scatter(value, devices);
  else
    return std::cref(value);
}
template <class T>
const T& piece(const std::reference_wrapper<const T>& value, size_t) {
  return value.get();
}
inline const Tensor& piece(const std::vector<Tensor>& pieces, size_t i) { return pieces[i]; }
inline size_t piece_count(const std::vector<Tensor>& pieces, size_t) { return pieces.size(); }
template <class T>
size_t piece_count(const std::reference_wrapper<const T>&, size_t otherwise) {
  return otherwise;
}
}  // namespace detail

/// module.forward(x, args...) with the first dimension of `x` and of tensors
/// among `args` cut over `devices`; other arguments are the same for all. Only as
/// many devices work as there are pieces. The module must lie on the first device,
/// where the results are joined; the others get a copy of it for this call, which
/// its threads use and nobody keeps: what forward() writes there is lost, what it
/// writes on the first device stays. Without devices it is a plain call.
/// InvalidArgument for what check fails, and where tensors are cut into different
/// numbers of pieces.
template <std::derived_from<Module> M, class... Args>
Tensor data_parallel(const M& module, const std::vector<Device>& devices, const Tensor& x,
                     const Args&... args) {
  if (devices.empty()) return module.forward(x, args...);
  detail::check_data_parallel(module, devices);
  const std::vector<Tensor> inputs = scatter(x, devices);
  // Not make_tuple: it would turn references into the values.
  const std::tuple<decltype(detail::scatter_argument(args, devices))...> others{
      detail::scatter_argument(args, devices)...};
  std::apply(
      [&](const auto&... other) {
        size_t number = 1;
        (detail::check_pieces(number++, detail::piece_count(other, inputs.size()), inputs.size()),
         ...);
      },
      others);
  std::vector<Tensor> outputs(inputs.size());
  std::vector<std::function<void()>> calls;
  for (size_t i = 0; i < inputs.size(); ++i) {
    calls.emplace_back([&, i] {
      const auto run = [&](const M& replica) {
        outputs[i] = std::apply(
            [&](const auto&... other) {
              return replica.forward(inputs[i], detail::piece(other, i)...);
            },
            others);
      };
      if (i == 0) return run(module);
      M replica = clone(module);
      replica.to(devices[i]);
      run(replica);
    });
  }
  detail::parallel_apply(calls, devices);
  return gather(outputs, devices.front());
}

/// A module that calls data_parallel() on the one it holds. Its state dict has
/// the prefix "module.", as PyTorch's. Wrap first and move later or the other way
/// round: where parameters are is looked at by each call.
template <std::derived_from<Module> M>
class DataParallel : public Module {
 public:
  explicit DataParallel(M held, std::vector<Device> devices = {})
      : module(std::move(held)), devices_(std::move(devices)) {}

  M module;
  FERRY_MODULE(module)

  template <class... Args>
  Tensor forward(const Tensor& x, const Args&... args) const {
    return data_parallel(module, devices_, x, args...);
  }
  std::string type_name() const override { return "DataParallel"; }
  const std::vector<Device>& devices() const noexcept { return devices_; }

 private:
  std::vector<Device> devices_;
};

}  // namespace ferry::nn

#endif  // FERRY_NN_DATA_PARALLEL_H
