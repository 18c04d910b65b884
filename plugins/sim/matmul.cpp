// SPDX-License-Identifier: Apache-2.0
//
// matmul/1: batch by batch, with a program after each element where there is
// one.
#include "evaluate.h"
#include "ferry/sdk/scalar_math.h"

namespace ferry::sim {
namespace {

/// The matrix at a batch position, dense, as A.
template <class A>
std::vector<A> matrix_at(const View& view, const Index& batch) {
  const ferry_tensor& t = view.tensor;
  const uint32_t row = t.ndim - 2;
  int64_t base = 0;
  for (uint32_t d = 0; d < row; ++d) base += batch.at()[d] * t.stride[d];
  const Elements<A> from(view);
  std::vector<A> out;
  out.reserve(static_cast<size_t>(t.shape[row] * t.shape[row + 1]));
  for (int64_t i = 0; i < t.shape[row]; ++i) {
    for (int64_t j = 0; j < t.shape[row + 1]; ++j) {
      out.push_back(from.get(base + i * t.stride[row] + j * t.stride[row + 1]));
    }
  }
  return out;
}

template <class C>
void multiply(const Job& job) {
  using A = std::conditional_t<std::is_floating_point_v<C>, double, int64_t>;
  const ferry_tensor& out = job.out[0].tensor;
  const uint32_t row = out.ndim - 2;
  const int64_t m = out.shape[row], n = out.shape[row + 1];
  const int64_t k = job.in[0].tensor.shape[row + 1];
  ferry_tensor batches = out;
  batches.ndim = row;
  int64_t count = 1;
  for (uint32_t d = 0; d < row; ++d) count *= out.shape[d];

  const uint16_t first = 0;
  const ferry_program identity = {
      sizeof identity, compute_of(out.dtype), 1, 0, 0, 1, nullptr, nullptr, &first};
  const bool fused = job.map != nullptr;
  std::vector<View> inputs(1);
  inputs.insert(inputs.end(), job.in.begin() + 2, job.in.end());
  Program<C> program(fused ? job.map->get() : identity, inputs, 1);

  const Elements<C> to(job.out[0]);
  Index batch(batches);
  Index element(out);
  std::vector<A> line(static_cast<size_t>(n));
  for (int64_t b = 0; b < count; ++b, batch.advance()) {
    const std::vector<A> left = matrix_at<A>(job.in[0], batch);
    const std::vector<A> right = matrix_at<A>(job.in[1], batch);
    for (int64_t i = 0; i < m; ++i) {
      std::fill(line.begin(), line.end(), A(0));
      for (int64_t p = 0; p < k; ++p) {
        const A a = left[static_cast<size_t>(i * k + p)];
        const A* const row_of_b = right.data() + p * n;
        for (int64_t j = 0; j < n; ++j) {
          A& total = line[static_cast<size_t>(j)];
          total = sdk::math::fm_add(total, sdk::math::fm_mul(a, row_of_b[j]));
        }
      }
      for (int64_t j = 0; j < n; ++j, element.advance()) {
        program.give(0, static_cast<C>(line[static_cast<size_t>(j)]));
        program.evaluate(element);
        to.set(element.offset_in(out), program.result(0));
      }
    }
  }
}

class MatmulKernel final : public SimKernel {
 public:
  MatmulKernel()
      : SimKernel({FERRY_FAMILY_MATMUL, kAllDtypes & ~FERRY_DTYPE_BIT(FERRY_BOOL),
                   FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}

 protected:
  Outcome run(const Job& job) const override {
    const ferry_dtype compute =
        job.map != nullptr ? job.map->get().compute : compute_of(job.out[0].tensor.dtype);
    with_compute(compute, [&](auto tag) { multiply<decltype(tag)>(job); });
    return {};
  }
};

}  // namespace

const hal::Kernel& matmul_kernel() {
  static const auto* const kernel = new MatmulKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
