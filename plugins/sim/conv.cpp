// SPDX-License-Identifier: Apache-2.0
//
// conv/1: each output is a sum over channels and kernel, in double.
#include "evaluate.h"
#include "window.h"

namespace ferry::sim {
namespace {

/// One input plane times one kernel plane, added to one output plane.
void add_plane(const Axes& axes, const double* in, const double* kernel, double* out) {
  const auto& [az, ay, ax] = axes;
  for (int64_t kz = 0; kz < az.kernel; ++kz) {
    const auto [z_first, z_last] = az.outputs_inside(kz);
    for (int64_t ky = 0; ky < ay.kernel; ++ky) {
      const auto [y_first, y_last] = ay.outputs_inside(ky);
      for (int64_t kx = 0; kx < ax.kernel; ++kx) {
        const auto [x_first, x_last] = ax.outputs_inside(kx);
        const double w = *kernel++;
        for (int64_t z = z_first; z < z_last; ++z) {
          for (int64_t y = y_first; y < y_last; ++y) {
            const double* const row = in + (az.at(z, kz) * ay.in + ay.at(y, ky)) * ax.in;
            double* const to = out + (z * ay.out + y) * ax.out;
            for (int64_t x = x_first; x < x_last; ++x) to[x] += w * row[ax.at(x, kx)];
          }
        }
      }
    }
  }
}

class ConvKernel final : public SimKernel {
 public:
  ConvKernel()
      : SimKernel(
            {FERRY_FAMILY_CONV, kFloatDtypes, FERRY_KERNEL_STRIDED | FERRY_KERNEL_DETERMINISTIC}) {}
  hal::Status check(const ferry_call& call) const override {
    const auto* attr = attr_of<ferry_conv_attr>(call);
    const bool known = attr != nullptr && attr->spatial >= 1 && attr->spatial <= 3;
    return known && call.map == nullptr ? hal::Status() : hal::Status(FERRY_DECLINED);
  }

 protected:
  Outcome run(const Job& job) const override {
    const auto& attr = job.attr_as<ferry_conv_attr>();
    const ferry_tensor& x = job.in[0].tensor;
    const ferry_tensor& w = job.in[1].tensor;
    const ferry_tensor& y = job.out[0].tensor;
    const Axes axes = axes_of(attr, x.shape, y.shape, w.shape + 2);
    const std::vector<double> in = gather_all<double>(job.in[0]);
    const std::vector<double> kernels = gather_all<double>(job.in[1]);
    const std::vector<double> bias =
        job.in.size() > 2 ? gather_all<double>(job.in[2]) : std::vector<double>();
    const int64_t in_size = axes[0].in * axes[1].in * axes[2].in;
    const int64_t out_size = axes[0].out * axes[1].out * axes[2].out;
    const int64_t kernel_size = axes[0].kernel * axes[1].kernel * axes[2].kernel;
    const int64_t per_group = w.shape[1];
    const int64_t outputs_per_group = w.shape[0] / attr.groups;
    const Elements<double> to(job.out[0]);
    Index element(y);
    std::vector<double> plane(static_cast<size_t>(out_size));
    for (int64_t n = 0; n < y.shape[0]; ++n) {
      for (int64_t o = 0; o < w.shape[0]; ++o) {
        std::fill(plane.begin(), plane.end(), bias.empty() ? 0.0 : bias[static_cast<size_t>(o)]);
        const int64_t group = o / outputs_per_group;
        for (int64_t c = 0; c < per_group; ++c) {
          const int64_t channel = group * per_group + c;
          add_plane(axes, in.data() + (n * x.shape[1] + channel) * in_size,
                    kernels.data() + (o * per_group + c) * kernel_size, plane.data());
        }
        for (const double v : plane) {
          to.set(element.offset_in(y), v);
          element.advance();
        }
      }
    }
    return {};
  }
};

}  // namespace

const hal::Kernel& conv_kernel() {
  static const auto* const kernel = new ConvKernel();  // outlives work in flight at exit
  return *kernel;
}

}  // namespace ferry::sim
