// SPDX-License-Identifier: Apache-2.0
//
// The walk over tensors, the evaluation of programs, and the map/1 kernel.
#include "map.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "parallel.h"
#include "transpose.h"

namespace ferry::cpu {
namespace {

/// Where a result is the last step's and nothing is converted, longer pieces
/// save calls: they need no tile.
constexpr int64_t kLongPiece = 8 * kTile;

/// A thread's tiles, grown to the largest program that it ran.
class Tiles {
 public:
  char* of_size(size_t bytes) {
    if (bytes > size_) {
      memory_.reset(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
      if (memory_ == nullptr) {
        size_ = 0;
        throw std::bad_alloc();
      }
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(char* p) const noexcept { std::free(p); }
  };
  std::unique_ptr<char, Free> memory_;
  size_t size_ = 0;
};
thread_local Tiles thread_tiles;

/// Elements that make a piece for one thread: enough work to pay for handing it
/// over.
int64_t grain_of(const ferry_program& program) {
  return std::max<int64_t>(4096, 65536 / (int64_t{1} + program.n_insn));
}

}  // namespace

Walk::Walk(uint32_t ndim, const int64_t* shape) noexcept : ndim_(ndim) {
  for (uint32_t d = 0; d < ndim; ++d) {
    shape_[d] = shape[d];
    count_ *= shape[d];
  }
}

void Walk::add(const ferry_tensor& tensor) { add(tensor, tensor.stride); }

void Walk::add(const ferry_tensor& tensor, const int64_t* strides) {
  Operand operand{reinterpret_cast<char*>(tensor.at.memory.handle + tensor.at.offset),
                  tensor.dtype,
                  item_size(tensor.dtype),
                  {}};
  std::copy(strides, strides + ndim_, operand.stride.begin());
  operands_.push_back(operand);
}

void Walk::join_dims() {
  uint32_t to = 0;
  for (uint32_t d = 0; d < ndim_; ++d) {
    if (shape_[d] == 1) continue;
    const bool joins =
        to > 0 && std::all_of(operands_.begin(), operands_.end(), [&](const Operand& o) {
          return o.stride[to - 1] == o.stride[d] * shape_[d];
        });
    const uint32_t at = joins ? to - 1 : to++;
    shape_[at] = joins ? shape_[at] * shape_[d] : shape_[d];
    for (Operand& o : operands_) o.stride[at] = o.stride[d];
  }
  ndim_ = to;
}

char* Walk::at(size_t i, int64_t begin) const noexcept {
  const Operand& o = operands_[i];
  if (ndim_ == 1) return o.base + begin * o.stride[0] * o.item;  // no division
  int64_t offset = 0;
  for (uint32_t d = ndim_; d-- > 0;) {
    offset += begin % shape_[d] * o.stride[d];
    begin /= shape_[d];
  }
  return o.base + offset * o.item;
}

template <class F>
void Walk::for_runs(int64_t begin, int64_t n, F&& f) const {
  if (ndim_ == 0) {
    f(int64_t{0}, int64_t{1}, std::array<int64_t, FERRY_MAX_DIMS>{});
    return;
  }
  std::array<int64_t, FERRY_MAX_DIMS> index{};
  int64_t rest = begin;
  for (uint32_t d = ndim_; d-- > 0;) {
    index[d] = rest % shape_[d];
    rest /= shape_[d];
  }
  const uint32_t last = ndim_ - 1;
  for (int64_t done = 0; done < n;) {
    const int64_t length = std::min(n - done, shape_[last] - index[last]);
    f(done, length, index);
    done += length;
    index[last] += length;
    for (uint32_t d = last; d > 0 && index[d] == shape_[d]; --d) {
      index[d] = 0;
      ++index[d - 1];
    }
  }
}

Evaluator::Evaluator(const ferry_program& program, const Walk& walk, int64_t longest)
    : program_(program),
      walk_(walk),
      loops_(loops()),
      compute_(compute_index(program.compute)),
      tile_bytes_(kTile * compute_size(compute_)) {
  const size_t count = size_t{program.n_in} + program.n_const + program.n_insn;
  tiles_ = thread_tiles.of_size(count * static_cast<size_t>(tile_bytes_));
  for (size_t k = 0; k < program.n_const; ++k) {
    const size_t r = program.n_in + k;
    char* tile = tiles_ + static_cast<int64_t>(r) * tile_bytes_;
    const bool floating = compute_ == kFloat || compute_ == kDouble;
    const ferry_dtype from = floating ? FERRY_F64 : FERRY_I64;
    loops_.load[from][compute_](tile, &program.constants[k], 0, std::min(longest, kTile));
    registers_[r] = tile;
  }
}

void Evaluator::load(size_t input, int64_t begin, int64_t n) {
  const Walk::Operand& o = walk_.operand(input);
  const bool same = compute_index(o.dtype) == compute_;
  const int64_t stride = walk_.inner_stride(input);
  if (n <= walk_.run_length(begin)) {
    char* const from = walk_.at(input, begin);
    if (same && (stride == 1 || n == 1)) {
      registers_[input] = from;
      return;
    }
    char* const tile = tiles_ + static_cast<int64_t>(input) * tile_bytes_;
    loops_.load[o.dtype][compute_](tile, from, stride, n);
    registers_[input] = tile;
    return;
  }
  char* const tile = tiles_ + static_cast<int64_t>(input) * tile_bytes_;
  const LoadLoop loop = loops_.load[o.dtype][compute_];
  const int64_t size = compute_size(compute_);
  walk_.for_runs(begin, n, [&](int64_t at, int64_t length, const auto& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * o.stride[d];
    loop(tile + at * size, o.base + offset * o.item, stride, length);
  });
  registers_[input] = tile;
}

int64_t Evaluator::longest(int64_t begin) const noexcept {
  if (program_.n_insn > 0 || program_.n_in != 1) return kTile;
  const bool plain =
      compute_index(walk_.operand(0).dtype) == compute_ && walk_.inner_stride(0) == 1;
  return plain ? std::max(kTile, walk_.run_length(begin)) : kTile;
}

void Evaluator::evaluate(int64_t begin, int64_t n, void* last) {
  for (size_t i = 0; i < program_.n_in; ++i) load(i, begin, n);
  const size_t first = size_t{program_.n_in} + program_.n_const;
  for (size_t s = 0; s < program_.n_insn; ++s) {
    const ferry_insn& insn = program_.insns[s];
    const size_t r = first + s;
    char* tile = tiles_ + static_cast<int64_t>(r) * tile_bytes_;
    if (last != nullptr && s + 1 == program_.n_insn) tile = static_cast<char*>(last);
    if (insn.op == FERRY_OP_INDEX) {
      loops_.index[compute_](tile, begin, n);
    } else {
      loops_.step[compute_][insn.op](tile, registers_[insn.arg[0]], registers_[insn.arg[1]],
                                     registers_[insn.arg[2]], n);
    }
    registers_[r] = tile;
  }
}

namespace {

/// Stores one register of a tile into its output.
void store(const Walk& walk, size_t operand, const void* tile, int compute, int64_t begin,
           int64_t n) {
  const Walk::Operand& o = walk.operand(operand);
  const StoreLoop loop = loops().store[o.dtype][compute];
  const int64_t stride = walk.inner_stride(operand);
  if (n <= walk.run_length(begin)) {
    loop(walk.at(operand, begin), stride, tile, n);
    return;
  }
  const int64_t size = compute_size(compute);
  walk.for_runs(begin, n, [&](int64_t at, int64_t length, const auto& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * o.stride[d];
    loop(o.base + offset * o.item, stride, static_cast<const char*>(tile) + at * size, length);
  });
}

/// Whether an operand is read or written in place, without a tile.
bool is_plain(const Walk& walk, size_t operand, int compute) {
  return compute_index(walk.operand(operand).dtype) == compute && walk.inner_stride(operand) == 1;
}

void run_range(const ferry_program& program, const Walk& walk, size_t n_out, int64_t begin,
               int64_t end) {
  Evaluator evaluator(program, walk, end - begin);
  const int compute = evaluator.compute();
  const uint32_t registers = program.n_in + program.n_const + program.n_insn;
  const bool direct = n_out == 1 && program.n_insn > 0 && program.out[0] == registers - 1u &&
                      is_plain(walk, program.n_in, compute);
  // One step on plain operands needs no tiles at all.
  bool plain = direct && program.n_insn == 1 && program.n_const == 0;
  for (size_t i = 0; i < program.n_in && plain; ++i) plain = is_plain(walk, i, compute);
  const int64_t piece = plain ? kLongPiece : kTile;
  while (begin < end) {
    int64_t n = std::min(piece, end - begin);
    const int64_t run = walk.run_length(begin);
    if (plain) n = std::min(n, run);
    const bool whole = direct && n <= run;
    evaluator.evaluate(begin, n, whole ? walk.at(program.n_in, begin) : nullptr);
    for (size_t k = 0; k < n_out && !whole; ++k) {
      store(walk, program.n_in + k, evaluator.reg(program.out[k]), compute, begin, n);
    }
    begin += n;
  }
}

class MapKernel final : public hal::Kernel {
 public:
  MapKernel()
      : Kernel({FERRY_FAMILY_MAP, (UINT64_C(1) << kDtypeCount) - 1,
                FERRY_KERNEL_STRIDED | FERRY_KERNEL_INPLACE | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    return call.map == nullptr ? hal::Status(FERRY_DECLINED) : check_program(*call.map);
  }
  hal::Status launch(const ferry_call& call) const override {
    return run_map(*call.map, {call.in, call.n_in}, {call.out, call.n_out});
  }
};

}  // namespace

hal::Status check_program(const ferry_program& program) {
  const uint64_t registers = uint64_t{program.n_in} + program.n_const + program.n_insn;
  if (compute_index(program.compute) < 0 || registers > Evaluator::kMostRegisters) {
    return hal::Status(FERRY_DECLINED);
  }
  for (uint32_t i = 0; i < program.n_insn; ++i) {
    if (program.insns[i].op >= kScalarOps) return hal::Status(FERRY_DECLINED);
  }
  return {};
}

namespace {

char* address(const ferry_tensor& tensor) {
  return reinterpret_cast<char*>(tensor.at.memory.handle + tensor.at.offset);
}

bool is_row_major(const ferry_tensor& tensor) {
  int64_t next = 1;
  for (uint32_t d = tensor.ndim; d-- > 0;) {
    if (tensor.shape[d] == 1) continue;
    if (tensor.stride[d] != next) return false;
    next *= tensor.shape[d];
  }
  return true;
}

/// One step on tensors without gaps, in the dtype it computes in: most of what
/// programs do, and worth a way without walk and tiles.
bool is_one_step(const ferry_program& program, std::span<const ferry_tensor> in,
                 std::span<const ferry_tensor> out) {
  if (program.n_insn != 1 || program.n_const != 0 || in.empty() || out.size() != 1 ||
      program.out[0] != program.n_in || program.insns[0].op == FERRY_OP_INDEX) {
    return false;
  }
  const auto fits = [&](const ferry_tensor& t) {
    return t.dtype == program.compute && is_row_major(t);
  };
  return fits(out[0]) && std::all_of(in.begin(), in.end(), fits);
}

void run_one_step(const ferry_program& program, std::span<const ferry_tensor> in,
                  const ferry_tensor& out) {
  const ferry_insn& insn = program.insns[0];
  const int compute = compute_index(program.compute);
  const int64_t size = compute_size(compute);
  const StepLoop step = loops().step[compute][insn.op];
  const char* args[3];
  // Arguments that the op does not have are register 0.
  for (int k = 0; k < 3; ++k) args[k] = address(in[insn.arg[k]]);
  char* const to = address(out);
  int64_t count = 1;
  for (uint32_t d = 0; d < out.ndim; ++d) count *= out.shape[d];
  parallel_for(count, grain_of(program), [&](int64_t begin, int64_t end) {
    const int64_t at = begin * size;
    step(to + at, args[0] + at, args[1] + at, args[2] + at, end - begin);
  });
}

}  // namespace

hal::Status run_map(const ferry_program& program, std::span<const ferry_tensor> in,
                    std::span<const ferry_tensor> out) {
  if (is_one_step(program, in, out)) {
    run_one_step(program, in, out[0]);
    return {};
  }
  Walk walk(out[0].ndim, out[0].shape);
  for (const ferry_tensor& t : in) walk.add(t);
  for (const ferry_tensor& t : out) walk.add(t);
  walk.join_dims();
  const bool copies =
      program.n_insn == 0 && program.n_in == 1 && out.size() == 1 && in[0].dtype == out[0].dtype;
  if (copies && transpose_copy(walk)) return {};
  parallel_for(walk.count(), grain_of(program), [&](int64_t begin, int64_t end) {
    run_range(program, walk, out.size(), begin, end);
  });
  return {};
}

const hal::Kernel& map_kernel() {
  static const auto* const kernel = new MapKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
