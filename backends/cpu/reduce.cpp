// SPDX-License-Identifier: Apache-2.0
//
// reduce/1: along rows where the reduced dimensions are the inner ones, by
// columns where they are the outer ones. What is added to what depends on the
// shape alone, so that any number of threads gives the same bits.
#include "reduce.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "map.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

/// A long reduction is cut into pieces of this many elements.
constexpr int64_t kPiece = 32768;
/// Elements of work that pay for another thread.
constexpr int64_t kGrain = 32768;

/// The value of one reduction on its way: double for floating compute types,
/// int64_t for the others.
union Accumulator {
  double f;
  int64_t i;
};
static_assert(sizeof(Accumulator) == 8);

struct Reduction {
  uint32_t op;
  const ferry_program* program;
  int compute;
  bool floating;
  int64_t outputs, length;  // results, and elements for each
  /// Inputs, walked with the kept dimensions outside and the reduced inside, or
  /// the other way round.
  Walk walk;
};

Accumulator start_of(uint32_t op, bool floating) {
  Accumulator out{};
  double f = 0;
  int64_t i = 0;
  switch (op) {
    case FERRY_REDUCE_PROD:
    case FERRY_REDUCE_ALL:
      f = 1, i = 1;
      break;
    case FERRY_REDUCE_MAX:
      f = -std::numeric_limits<double>::infinity(), i = std::numeric_limits<int64_t>::min();
      break;
    case FERRY_REDUCE_MIN:
      f = std::numeric_limits<double>::infinity(), i = std::numeric_limits<int64_t>::max();
      break;
    default:
      break;
  }
  if (floating)
    out.f = f;
  else
    out.i = i;
  return out;
}

/// Folds accumulator `from` into `into`, with the loops for that type.
void combine(const Reduction& r, Accumulator* into, const Accumulator& from) {
  const int compute = r.floating ? kDouble : kInt64;
  loops().fold[compute][r.op](into, &from, 1);
}

/// Writes results to the output, through the compute type as a program would.
void store_results(const Reduction& r, const ferry_tensor& out, const Accumulator* results,
                   int64_t first, int64_t n) {
  const ferry_dtype wide = r.floating ? FERRY_F64 : FERRY_I64;
  char* const to = reinterpret_cast<char*>(out.at.memory.handle + out.at.offset);
  const int64_t item = item_size(out.dtype);
  alignas(64) char tile[kTile * 8];
  for (int64_t done = 0; done < n; done += kTile) {
    const int64_t length = std::min(kTile, n - done);
    // Sums of integers are wider than what they were computed in.
    const int compute = r.floating ? r.compute : static_cast<int>(kInt64);
    loops().load[wide][compute](tile, results + done, 1, length);
    loops().store[out.dtype][compute](to + (first + done) * item, 1, tile, length);
  }
}

/// One result or a piece of it: elements begin..end-1 of the walk.
Accumulator fold_range(const Reduction& r, Evaluator& evaluator, int64_t begin, int64_t end) {
  Accumulator total = start_of(r.op, r.floating);
  const FoldLoop loop = loops().fold[r.compute][r.op];
  while (begin < end) {
    const int64_t n = std::min(evaluator.longest(begin), end - begin);
    evaluator.evaluate(begin, n, nullptr);
    loop(&total, evaluator.reg(r.program->out[0]), n);
    begin += n;
  }
  return total;
}

void reduce_rows(const Reduction& r, const ferry_tensor& out) {
  const int64_t pieces = (r.length + kPiece - 1) / kPiece;
  std::vector<Accumulator> partial(static_cast<size_t>(r.outputs * pieces));
  const int64_t each = std::min(r.length, kPiece);
  parallel_for(r.outputs * pieces, std::max<int64_t>(1, kGrain / each),
               [&](int64_t begin, int64_t end) {
                 Evaluator evaluator(*r.program, r.walk);
                 for (int64_t p = begin; p < end; ++p) {
                   const int64_t row = p / pieces * r.length;
                   const int64_t from = p % pieces * kPiece;
                   const int64_t to = std::min(from + kPiece, r.length);
                   partial[static_cast<size_t>(p)] = fold_range(r, evaluator, row + from, row + to);
                 }
               });
  if (pieces > 1) {
    for (int64_t o = 0; o < r.outputs; ++o) {
      Accumulator total = start_of(r.op, r.floating);
      for (int64_t p = 0; p < pieces; ++p) {
        combine(r, &total, partial[static_cast<size_t>(o * pieces + p)]);
      }
      partial[static_cast<size_t>(o)] = total;
    }
  }
  store_results(r, out, partial.data(), 0, r.outputs);
}

/// The walk has the reduced dimensions outside: row k holds element k of every
/// result. Blocks of results, and pieces of rows where there are few results.
void reduce_columns(const Reduction& r, const ferry_tensor& out) {
  const int64_t blocks = (r.outputs + kTile - 1) / kTile;
  const int64_t width = std::min(r.outputs, kTile);
  const int64_t rows = std::max<int64_t>(1, 4 * kPiece / width);
  const int64_t pieces = (r.length + rows - 1) / rows;
  std::vector<Accumulator> partial(static_cast<size_t>(r.outputs * pieces),
                                   start_of(r.op, r.floating));
  const ColumnsLoop loop = loops().columns[r.compute][r.op];
  const int64_t work = width * std::min(rows, r.length);
  parallel_for(blocks * pieces, std::max<int64_t>(1, kGrain / work),
               [&](int64_t begin, int64_t end) {
                 Evaluator evaluator(*r.program, r.walk);
                 for (int64_t p = begin; p < end; ++p) {
                   const int64_t first = p % blocks * kTile;
                   const int64_t n = std::min(kTile, r.outputs - first);
                   const int64_t piece = p / blocks;
                   Accumulator* const to = partial.data() + piece * r.outputs + first;
                   const int64_t last = std::min((piece + 1) * rows, r.length);
                   for (int64_t k = piece * rows; k < last; ++k) {
                     evaluator.evaluate(k * r.outputs + first, n, nullptr);
                     loop(to, evaluator.reg(r.program->out[0]), n);
                   }
                 }
               });
  for (int64_t p = 1; p < pieces; ++p) {
    for (int64_t o = 0; o < r.outputs; ++o) {
      combine(r, &partial[static_cast<size_t>(o)], partial[static_cast<size_t>(p * r.outputs + o)]);
    }
  }
  store_results(r, out, partial.data(), 0, r.outputs);
}

void reduce_positions(const Reduction& r, const ferry_tensor& out) {
  auto* const to = reinterpret_cast<int64_t*>(out.at.memory.handle + out.at.offset);
  const ArgLoop loop = loops().arg[r.compute][r.op - FERRY_REDUCE_ARGMAX];
  parallel_for(r.outputs, std::max<int64_t>(1, kGrain / r.length), [&](int64_t begin, int64_t end) {
    Evaluator evaluator(*r.program, r.walk);
    for (int64_t o = begin; o < end; ++o) {
      Accumulator best{};
      int64_t where = -1;
      for (int64_t k = 0; k < r.length; k += kTile) {
        const int64_t n = std::min(kTile, r.length - k);
        evaluator.evaluate(o * r.length + k, n, nullptr);
        loop(&best, &where, evaluator.reg(r.program->out[0]), k, n);
      }
      to[o] = where;
    }
  });
}

/// A program that is its one input.
struct Identity {
  uint16_t out = 0;
  ferry_program program{};
  explicit Identity(ferry_dtype dtype) {
    const bool own = compute_index(dtype) >= 0;
    const auto narrow = dtype == FERRY_F16 || dtype == FERRY_BF16 ? FERRY_F32 : FERRY_I32;
    program = {sizeof program,
               own ? dtype : static_cast<ferry_dtype>(narrow),
               1,
               0,
               0,
               1,
               nullptr,
               nullptr,
               &out};
  }
};

void reduce(const ferry_call& call) {
  const auto& attr = *static_cast<const ferry_reduce_attr*>(call.attr);
  const ferry_tensor& like = call.in[0];
  const Identity identity(like.dtype);
  const ferry_program& program = call.map != nullptr ? *call.map : identity.program;

  std::array<uint32_t, FERRY_MAX_DIMS> kept{}, reduced{};
  uint32_t n_kept = 0, n_reduced = 0;
  int64_t outputs = 1, length = 1;
  for (uint32_t d = 0; d < like.ndim; ++d) {
    const bool is_reduced = (attr.axes >> d & 1) != 0;
    (is_reduced ? reduced[n_reduced++] : kept[n_kept++]) = d;
    (is_reduced ? length : outputs) *= like.shape[d];
  }
  // By columns where the last dimension of any size is kept and wide enough.
  uint32_t inner = like.ndim;
  while (inner > 0 && like.shape[inner - 1] == 1) --inner;
  const bool is_arg = attr.op >= FERRY_REDUCE_ARGMAX;
  const bool columns = !is_arg && inner > 0 && (attr.axes >> (inner - 1) & 1) == 0 &&
                       like.shape[inner - 1] >= 8 && length > 1;

  std::array<uint32_t, FERRY_MAX_DIMS> order{};
  uint32_t n = 0;
  const auto append = [&](const auto& dims, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) order[n++] = dims[i];
  };
  if (columns) append(reduced, n_reduced);
  append(kept, n_kept);
  if (!columns) append(reduced, n_reduced);

  std::array<int64_t, FERRY_MAX_DIMS> shape{}, strides{};
  for (uint32_t i = 0; i < n; ++i) shape[i] = like.shape[order[i]];
  Walk walk(n, shape.data());
  for (uint32_t k = 0; k < call.n_in; ++k) {
    for (uint32_t i = 0; i < n; ++i) strides[i] = call.in[k].stride[order[i]];
    walk.add(call.in[k], strides.data());
  }
  walk.join_dims();
  const int compute = compute_index(program.compute);
  const Reduction r{attr.op, &program, compute,        compute == kFloat || compute == kDouble,
                    outputs, length,   std::move(walk)};
  if (is_arg) {
    reduce_positions(r, call.out[0]);
  } else if (columns) {
    reduce_columns(r, call.out[0]);
  } else {
    reduce_rows(r, call.out[0]);
  }
}

class ReduceKernel final : public hal::Kernel {
 public:
  ReduceKernel()
      : Kernel({FERRY_FAMILY_REDUCE, (UINT64_C(1) << kDtypeCount) - 1,
                FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = static_cast<const ferry_reduce_attr*>(call.attr);
    if (attr == nullptr || attr->op > FERRY_REDUCE_ARGMIN) return hal::Status(FERRY_DECLINED);
    // The result is written in order.
    const ferry_tensor& out = call.out[0];
    int64_t next = 1;
    for (uint32_t d = out.ndim; d-- > 0;) {
      if (out.shape[d] == 1) continue;
      if (out.stride[d] != next) return hal::Status(FERRY_DECLINED);
      next *= out.shape[d];
    }
    return call.map == nullptr ? hal::Status() : check_program(*call.map);
  }
  hal::Status launch(const ferry_call& call) const override {
    reduce(call);
    return {};
  }
};

}  // namespace

const hal::Kernel& reduce_kernel() {
  static const auto* const kernel = new ReduceKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::cpu
