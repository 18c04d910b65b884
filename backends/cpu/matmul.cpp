// SPDX-License-Identifier: Apache-2.0
//
// matmul/1: shares the pieces of a product among the threads, and runs the
// fused program on each while it is in the cache.
#include "matmul.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <vector>

#include "map.h"
#include "matmul_plan.h"
#include "matmul_product.h"
#include "parallel.h"

namespace ferry::cpu {
namespace {

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Job {
 public:
  explicit Job(const ferry_call& call)
      : p_(MatmulProblem::from(call)),
        plan_(MatmulPlan::of(p_)),
        program_(call.map),
        dtype_(p_.a().dtype),
        size_(accumulator_size(dtype_)) {
    const bool dense = p_.out().col == 1 || p_.n == 1;
    const bool same = dtype_ != FERRY_F16 && dtype_ != FERRY_BF16 && size_ == item_size(dtype_);
    in_place_ = program_ == nullptr && dense && same && p_.out().dtype == dtype_;
  }

  /// The first failure of a fused program, or FERRY_OK.
  ferry_rc run() {
    if (plan_.depth < p_.k)
      run_in_parts();
    else
      run_whole();
    return failure_.load();
  }

 private:
  /// Products g..g+group-1 of the last batch dimension at `outer` in the
  /// others, and a tile of each.
  struct Piece {
    int64_t outer, g, group, row, col, rows, cols;
  };

  void run_whole();
  void run_in_parts();
  void run_piece(const Piece& piece);
  void finish(const Piece& piece, void* c);
  void run_program(const Piece& piece, void* c);

  /// Address of the first element of a piece in an operand of out's shape.
  char* at(const MatmulProblem::Operand& o, const Piece& piece) const {
    return batch_at(o, piece) + (piece.row * o.row + piece.col * o.col) * item_size(o.dtype);
  }
  char* batch_at(const MatmulProblem::Operand& o, const Piece& piece) const;
  int64_t last_batch() const {
    return p_.batch_dims == 0 ? 1 : p_.batch[static_cast<size_t>(p_.batch_dims) - 1];
  }
  int64_t last_stride(const MatmulProblem::Operand& o) const {
    return p_.batch_dims == 0 ? 0 : o.batch[static_cast<size_t>(p_.batch_dims) - 1];
  }
  Matrix a_of(const Piece& piece) const {
    return part({batch_at(p_.a(), piece), p_.a().row, p_.a().col}, dtype_, piece.row, 0);
  }
  Matrix b_of(const Piece& piece) const {
    return part({batch_at(p_.b(), piece), p_.b().row, p_.b().col}, dtype_, 0, piece.col);
  }

  MatmulProblem p_;
  MatmulPlan plan_;
  const ferry_program* program_;
  ferry_dtype dtype_;
  int64_t size_;   // of the accumulation type
  bool in_place_;  // sums are written to the output itself
  std::atomic<ferry_rc> failure_{FERRY_OK};
};

char* Job::batch_at(const MatmulProblem::Operand& o, const Piece& piece) const {
  int64_t offset = piece.g * last_stride(o);
  int64_t rest = piece.outer;
  for (int d = p_.batch_dims - 2; d >= 0; --d) {
    const auto i = static_cast<size_t>(d);
    offset += rest % p_.batch[i] * o.batch[i];
    rest /= p_.batch[i];
  }
  return o.data + offset * item_size(o.dtype);
}

void Job::run_whole() {
  const int64_t down = divide_up(p_.m, plan_.rows), across = divide_up(p_.n, plan_.cols);
  const int64_t last = last_batch();
  const int64_t groups = divide_up(last, plan_.group), outer = p_.batch_count() / last;
  parallel_for(outer * groups * down * across, plan_.grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Piece piece{};
      // Down the rows first: neighbours share the columns of b.
      piece.row = i % down * plan_.rows;
      piece.col = i / down % across * plan_.cols;
      piece.g = i / (down * across) % groups * plan_.group;
      piece.outer = i / (down * across * groups);
      piece.rows = std::min(plan_.rows, p_.m - piece.row);
      piece.cols = std::min(plan_.cols, p_.n - piece.col);
      piece.group = std::min(plan_.group, last - piece.g);
      run_piece(piece);
    }
  });
}

void Job::run_piece(const Piece& piece) {
  Piece one = piece;
  one.group = 1;
  if (in_place_) {
    const MatmulProblem::Operand& out = p_.out();
    for (; one.g < piece.g + piece.group; ++one.g) {
      multiply(dtype_, piece.rows, piece.cols, p_.k, a_of(one), b_of(one), at(out, one), out.row);
    }
    return;
  }
  const int64_t area = piece.rows * piece.cols;
  const Workspace sums(piece.group * area * size_);
  for (; one.g < piece.g + piece.group; ++one.g) {
    multiply(dtype_, piece.rows, piece.cols, p_.k, a_of(one), b_of(one),
             sums.as<char>() + (one.g - piece.g) * area * size_, piece.cols);
  }
  finish(piece, sums.data());
}

/// One product after the other, each with its sum cut into parts.
void Job::run_in_parts() {
  const int64_t down = divide_up(p_.m, plan_.rows), across = divide_up(p_.n, plan_.cols);
  const int64_t tiles = down * across, parts = divide_up(p_.k, plan_.depth);
  const int64_t area = p_.m * p_.n, last = last_batch();
  const Workspace sums(parts * area * size_);
  for (int64_t batch = 0; batch < p_.batch_count(); ++batch) {
    Piece whole{batch / last, batch % last, 1, 0, 0, p_.m, p_.n};
    parallel_for(parts * tiles, plan_.grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Piece piece = whole;
        piece.row = i % down * plan_.rows;
        piece.col = i / down % across * plan_.cols;
        piece.rows = std::min(plan_.rows, p_.m - piece.row);
        piece.cols = std::min(plan_.cols, p_.n - piece.col);
        const int64_t from = i / tiles * plan_.depth;
        char* const c = sums.as<char>() + (i / tiles * area + piece.row * p_.n + piece.col) * size_;
        multiply(dtype_, piece.rows, piece.cols, std::min(plan_.depth, p_.k - from),
                 part(a_of(piece), dtype_, 0, from), part(b_of(piece), dtype_, from, 0), c, p_.n);
      }
    });
    parallel_for(area, std::max<int64_t>(1024, (int64_t{1} << 16) / parts),
                 [&](int64_t begin, int64_t end) {
                   char* const to = sums.as<char>() + begin * size_;
                   for (int64_t part = 1; part < parts; ++part) {
                     matmul_loops().add[dtype_](to, to + part * area * size_, end - begin);
                   }
                 });
    finish(whole, sums.data());
  }
}

/// Brings the sums of a piece, [group, rows, cols], to the output.
void Job::finish(const Piece& piece, void* c) {
  if (program_ != nullptr) {
    run_program(piece, c);
    return;
  }
  const MatmulProblem::Operand& out = p_.out();
  const char* from = static_cast<const char*>(c);
  Piece row = piece;
  for (row.g = piece.g; row.g < piece.g + piece.group; ++row.g) {
    for (row.row = piece.row; row.row < piece.row + piece.rows; ++row.row) {
      matmul_loops().store[dtype_](at(out, row), out.col, from, piece.cols);
      from += piece.cols * size_;
    }
  }
}

ferry_tensor view(const void* data, ferry_dtype dtype, const int64_t (&shape)[3],
                  const int64_t (&stride)[3]) {
  ferry_tensor t{};
  t.at.memory.handle = reinterpret_cast<uint64_t>(data);
  t.dtype = dtype;
  t.ndim = 3;
  std::copy_n(shape, 3, t.shape);
  std::copy_n(stride, 3, t.stride);
  return t;
}

void Job::run_program(const Piece& piece, void* c) {
  const int64_t shape[3] = {piece.group, piece.rows, piece.cols};
  const int64_t area = piece.rows * piece.cols, count = piece.group * area;
  const int64_t dense[3] = {area, piece.cols, 1};
  const bool half = dtype_ == FERRY_F16 || dtype_ == FERRY_BF16;
  if (!half && size_ != item_size(dtype_)) {
    // Narrow integers wrap before the program sees them. In place: each element
    // is read before the shorter one is written.
    matmul_loops().store[dtype_](c, 1, c, count);
  }
  std::vector<ferry_tensor> in;
  in.reserve(p_.operands.size());
  in.push_back(view(c, half ? ferry_dtype{FERRY_F32} : dtype_, shape, dense));
  for (size_t i = 3; i < p_.operands.size(); ++i) {
    const MatmulProblem::Operand& o = p_.operands[i];
    in.push_back(view(at(o, piece), o.dtype, shape, {last_stride(o), o.row, o.col}));
  }
  const MatmulProblem::Operand& out = p_.out();
  const ferry_tensor to =
      view(at(out, piece), out.dtype, shape, {last_stride(out), out.row, out.col});
  const hal::Status status = run_map(*program_, in, {&to, 1});
  if (!status.ok()) failure_.store(status.code());
}

class MatmulKernel final : public hal::Kernel {
 public:
  MatmulKernel()
      : Kernel({FERRY_FAMILY_MATMUL,
                FERRY_DTYPE_BIT(FERRY_U8) | FERRY_DTYPE_BIT(FERRY_I8) | FERRY_DTYPE_BIT(FERRY_I16) |
                    FERRY_DTYPE_BIT(FERRY_I32) | FERRY_DTYPE_BIT(FERRY_I64) |
                    FERRY_DTYPE_BIT(FERRY_F16) | FERRY_DTYPE_BIT(FERRY_BF16) |
                    FERRY_DTYPE_BIT(FERRY_F32) | FERRY_DTYPE_BIT(FERRY_F64),
                FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}

  hal::Status check(const ferry_call& call) const override {
    const hal::Status declined(FERRY_DECLINED);
    if (call.n_in < 2 || call.n_out != 1) return declined;
    const ferry_dtype dtype = call.in[0].dtype;
    if (call.in[1].dtype != dtype || call.in[0].ndim < 2) return declined;
    if (call.map == nullptr) {
      return call.n_in == 2 && call.out[0].dtype == dtype ? hal::Status() : declined;
    }
    if (call.map->n_in != call.n_in - 1 || call.map->n_out != 1) return declined;
    // Tiles have no number in the whole output.
    for (uint32_t i = 0; i < call.map->n_insn; ++i) {
      if (call.map->insns[i].op == FERRY_OP_INDEX) return declined;
    }
    return check_program(*call.map);
  }

  hal::Status launch(const ferry_call& call) const override {
    try {
      const ferry_rc rc = Job(call).run();
      if (rc == FERRY_OK) return hal::Status();
      return hal::fail(rc, "matmul", "the program after the product failed");
    } catch (const std::bad_alloc&) {
      return hal::fail(FERRY_E_OOM, "matmul", "no host memory left for the working copies");
    } catch (const std::exception& e) {
      return hal::fail(FERRY_E_OTHER, "matmul", e.what());
    }
  }
};

}  // namespace

const hal::Kernel& matmul_kernel() {
  static const auto* const kernel = new MatmulKernel();
  return *kernel;
}

}  // namespace ferry::cpu
