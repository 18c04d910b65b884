// SPDX-License-Identifier: Apache-2.0
//
// Normal form of a matmul/1 call and its cut into pieces.
#include "matmul_plan.h"

#include <algorithm>
#include <utility>

namespace ferry::cpu {
namespace {

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

MatmulProblem::Operand operand(const ferry_tensor& tensor) {
  MatmulProblem::Operand o{};
  o.dtype = tensor.dtype;
  o.data = reinterpret_cast<char*>(tensor.at.memory.handle + tensor.at.offset);
  o.row = tensor.stride[tensor.ndim - 2];
  o.col = tensor.stride[tensor.ndim - 1];
  for (uint32_t d = 0; d + 2 < tensor.ndim; ++d) o.batch[d] = tensor.stride[d];
  return o;
}

}  // namespace

int64_t MatmulProblem::batch_count() const noexcept {
  int64_t count = 1;
  for (int d = 0; d < batch_dims; ++d) count *= batch[static_cast<size_t>(d)];
  return count;
}

MatmulProblem MatmulProblem::from(const ferry_call& call) {
  MatmulProblem p{};
  const ferry_tensor& out = call.out[0];
  const uint32_t dims = out.ndim - 2;
  p.m = out.shape[dims];
  p.n = out.shape[dims + 1];
  p.k = call.in[0].shape[call.in[0].ndim - 1];
  p.operands.reserve(call.n_in + 1);
  p.operands.push_back(operand(call.in[0]));
  p.operands.push_back(operand(call.in[1]));
  p.operands.push_back(operand(out));
  for (uint32_t i = 2; i < call.n_in; ++i) p.operands.push_back(operand(call.in[i]));
  p.batch_dims = static_cast<int>(dims);
  for (uint32_t d = 0; d < dims; ++d) p.batch[d] = out.shape[d];
  p.join_batch_dims();
  p.fold_batch_into_rows();
  if (p.n > 1 && p.out().col != 1 && (p.out().row == 1 || p.m == 1)) p.transpose();
  return p;
}

void MatmulProblem::join_batch_dims() {
  size_t kept = 0;  // dims [0, kept) are in their final place
  for (size_t d = 0; d < static_cast<size_t>(batch_dims); ++d) {
    if (batch[d] == 1) continue;
    bool joins = kept > 0;
    for (const Operand& o : operands) {
      joins = joins && o.batch[kept - 1] == o.batch[d] * batch[d];
    }
    const size_t to = joins ? kept - 1 : kept;
    batch[to] = joins ? batch[to] * batch[d] : batch[d];
    for (Operand& o : operands) o.batch[to] = o.batch[d];
    kept = to + 1;
  }
  batch_dims = static_cast<int>(kept);
}

void MatmulProblem::fold_batch_into_rows() {
  while (batch_dims > 0) {
    const size_t last = static_cast<size_t>(batch_dims) - 1;
    if (b().batch[last] != 0) return;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Operand& o = operands[i];
      if (i != 1 && m > 1 && o.batch[last] != m * o.row) return;
    }
    if (m == 1) {
      for (Operand& o : operands) {
        if (&o != &b()) o.row = o.batch[last];
      }
    }
    m *= batch[last];
    --batch_dims;
  }
}

void MatmulProblem::transpose() {
  for (Operand& o : operands) std::swap(o.row, o.col);
  std::swap(operands[0], operands[1]);
  std::swap(m, n);
}

namespace {

/// Elements of a matrix that one piece of a matrix-vector product reads.
constexpr int64_t kVectorPiece = int64_t{1} << 17;

MatmulPlan plan_vector(const MatmulProblem& p) {
  const bool column = p.n == 1;
  const int64_t length = column ? p.m : p.n;
  const bool dense_rows = column ? p.a().col == 1 : p.b().row == 1;
  int64_t tile = length, depth = p.k;
  if (dense_rows) {
    tile = std::clamp<int64_t>(kVectorPiece / p.k, 4, length > 4 ? length : 4);
    if (divide_up(length, tile) * p.batch_count() < 8 && p.k > kVectorPiece / 4) {
      depth = std::max<int64_t>(kVectorPiece / 8, divide_up(divide_up(p.k, 64), 512) * 512);
    }
  } else {
    // Whole rows of the matrix as it lies, so that memory is read in order;
    // the partial sums of a piece stay in the L1 cache.
    tile = std::min<int64_t>(length, 4096);
    if (divide_up(length, tile) * p.batch_count() < 64) {
      depth = std::max(4 * kVectorPiece / tile, divide_up(p.k, 64));
    }
  }
  MatmulPlan plan{};
  plan.rows = column ? std::min(tile, length) : 1;
  plan.cols = column ? 1 : std::min(tile, length);
  plan.depth = std::min(depth, p.k);
  return plan;
}

MatmulPlan plan_matrix(const MatmulProblem& p) {
  constexpr int64_t kRows = 256, kCols = 512;
  constexpr int64_t kLeast = int64_t{1} << 21;  // products of a piece
  constexpr int64_t kPieces = 32;               // enough of them for many threads
  const int64_t batches = p.batch_count();
  int64_t rows = std::min(p.m, kRows), cols = std::min(p.n, kCols);
  const auto pieces = [&] { return batches * divide_up(p.m, rows) * divide_up(p.n, cols); };
  while (pieces() < kPieces && rows * cols * p.k >= 2 * kLeast && std::max(rows, cols) > 96) {
    // Halves, on whole register tiles of every instruction set.
    if (rows >= cols)
      rows = divide_up(divide_up(rows, 2), 48) * 48;
    else
      cols = divide_up(divide_up(cols, 2), 64) * 64;
  }
  MatmulPlan plan{};
  plan.rows = std::min(rows, p.m);
  plan.cols = std::min(cols, p.n);
  plan.depth = p.k;
  // A long sum for few elements is cut too.
  const int64_t area = p.m * p.n;
  if (pieces() < 16 && p.k >= 8192 && area <= int64_t{1} << 18 && area * p.k >= 2 * kLeast) {
    const int64_t parts = std::min(divide_up(kPieces, pieces()), divide_up(area * p.k, kLeast));
    plan.depth =
        std::max<int64_t>(4096, divide_up(divide_up(p.k, parts), kBlockDepth) * kBlockDepth);
  }
  return plan;
}

}  // namespace

MatmulPlan MatmulPlan::of(const MatmulProblem& p) {
  constexpr int64_t kTaskProducts = int64_t{1} << 17;
  constexpr int64_t kGroupElements = int64_t{1} << 14;
  MatmulPlan plan = p.n == 1 || p.m == 1 ? plan_vector(p) : plan_matrix(p);
  plan.group = 1;
  const int64_t area = p.m * p.n;
  if (p.batch_dims > 0 && plan.rows == p.m && plan.cols == p.n && plan.depth == p.k) {
    const int64_t last = p.batch[static_cast<size_t>(p.batch_dims) - 1];
    const int64_t wanted = std::min(kGroupElements / area, kTaskProducts / (area * p.k));
    plan.group = std::clamp<int64_t>(wanted, 1, last);
  }
  const int64_t products = plan.group * plan.rows * plan.cols * plan.depth;
  plan.grain = std::max<int64_t>(1, kTaskProducts / products);
  return plan;
}

}  // namespace ferry::cpu
