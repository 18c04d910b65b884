// SPDX-License-Identifier: Apache-2.0
//
// What data parallelism checks, cuts, runs and joins.
#include "ferry/nn/data_parallel.h"

#include <algorithm>
#include <exception>
#include <thread>

#include <fmt/format.h>

#include "ferry/error.h"
#include "ferry/ops.h"
#include "ferry/stream.h"

namespace ferry::nn {

std::vector<Tensor> scatter(const Tensor& x, const std::vector<Device>& devices) {
  if (devices.empty()) throw InvalidArgument("scatter", "there are no devices");
  if (x.dim() == 0) throw InvalidArgument("scatter", "a tensor without dimensions has no rows");
  const int64_t rows = x.size(0);
  if (rows == 0) return {x.to(devices.front())};
  const auto count = static_cast<int64_t>(devices.size());
  const int64_t piece = (rows + count - 1) / count;
  std::vector<Tensor> out;
  for (int64_t at = 0; at < rows; at += piece)
    out.push_back(x.narrow(0, at, std::min(piece, rows - at)).to(devices[out.size()]));
  return out;
}

Tensor gather(const std::vector<Tensor>& parts, const Device& device) {
  if (parts.empty()) throw InvalidArgument("gather", "there are no parts");
  std::vector<Tensor> moved;
  for (const Tensor& part : parts) {
    if (part.dim() == 0)
      throw InvalidArgument("gather",
                            "a part has no dimensions to join along; let forward() keep "
                            "the batch, or return one row");
    moved.push_back(part.to(device));
  }
  return moved.size() == 1 ? moved.front() : cat(moved, 0);
}

namespace detail {

void check_data_parallel(const Module& module, const std::vector<Device>& devices) {
  for (size_t i = 0; i < devices.size(); ++i)
    if (std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i), devices[i]) !=
        devices.begin() + static_cast<std::ptrdiff_t>(i))
      throw InvalidArgument("data_parallel", fmt::format("{} is named twice; name each device once",
                                                         devices[i].str()));
  const auto check = [&](const char* what, const StateDict::Item& item) {
    if (item.second.device() != devices.front())
      throw InvalidArgument(
          "data_parallel",
          fmt::format("{} \"{}\" is on {}, and the first device is {}; move the module with to()",
                      what, item.first, item.second.device().str(), devices.front().str()));
  };
  for (const auto& item : module.named_parameters()) check("parameter", item);
  for (const auto& item : module.named_buffers()) check("buffer", item);
}

void check_pieces(size_t argument, size_t got, size_t wanted) {
  if (got != wanted)
    throw InvalidArgument("data_parallel",
                          fmt::format("argument {} makes {} pieces and the input {}; give tensors "
                                      "as many rows as the input has",
                                      argument, got, wanted));
}

void parallel_apply(const std::vector<std::function<void()>>& calls,
                    const std::vector<Device>& devices) {
  std::vector<std::exception_ptr> errors(calls.size());
  const auto run = [&](size_t i) {
    try {
      const DeviceGuard guard(devices[i]);
      calls[i]();
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < calls.size(); ++i) threads.emplace_back(run, i);
    if (!calls.empty()) run(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace ferry::nn
