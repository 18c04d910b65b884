// SPDX-License-Identifier: Apache-2.0
//
// KernelCase: one call of a kernel with its operands, and the judgement of what
// comes out. Each family makes its own.
#ifndef FERRY_TOOLS_VERIFY_KERNEL_CASE_H
#define FERRY_TOOLS_VERIFY_KERNEL_CASE_H

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ferry/abi/kernel.h"
#include "reference/array.h"

namespace ferry::verify {

using reference::Array;

/// An input: values as its dtype holds them. Along the dimensions in the bits
/// of `repeated` they are all the same, and a stride of 0 may stand for them.
struct Operand {
  ferry_dtype dtype = FERRY_F32;
  Array values;
  uint32_t repeated = 0;
};
struct Output {
  ferry_dtype dtype = FERRY_F32;
  std::vector<int64_t> shape;
};

/// A map program that owns its arrays.
class Program {
 public:
  explicit Program(ferry_dtype compute, uint32_t n_in) : compute_(compute), n_in_(n_in) {}
  /// All constants come before the first step. Each returns its register.
  uint16_t constant(double value);
  uint16_t then(uint16_t op, uint16_t a = 0, uint16_t b = 0, uint16_t c = 0);
  void output(uint16_t reg) { out_.push_back(reg); }

  /// Points into this object.
  ferry_program table() const;
  /// The outputs for these inputs at element `number`, by the judge, each step
  /// rounded to the compute type.
  std::vector<double> evaluate(const std::vector<double>& in, int64_t number) const;

 private:
  ferry_dtype compute_;
  uint32_t n_in_;
  std::vector<double> values_;
  std::vector<ferry_constant> constants_;
  std::vector<ferry_insn> insns_;
  std::vector<uint16_t> out_;
};

struct KernelCase {
  std::string name;  ///< "add of f32, 17 elements"
  std::vector<Operand> in;
  std::vector<Output> out;
  std::vector<uint64_t> attr;  ///< the attribute struct's bytes; empty: NULL
  std::optional<Program> map;
  /// What is wrong with the outputs' values, or nothing.
  std::function<std::string(const std::vector<Array>& got)> judge;

  template <class Attr>
  void set_attr(const Attr& value) {
    static_assert(sizeof(Attr) % 8 == 0);
    attr.resize(sizeof(Attr) / 8);
    std::memcpy(attr.data(), &value, sizeof value);
  }
};

/// Which cases are wanted.
enum class Flavour {
  kSizes,    ///< ordinary values; the sizes around vector widths
  kSpecial,  ///< NaN, infinities, extremes
  kFew       ///< a few of each kind, for questions about memory
};

using Sink = std::function<void(const KernelCase&)>;
/// Makes the cases whose dtypes are all in the mask `dtypes`, for operands of
/// `dtype`.
using MakeCases = void (*)(ferry_dtype dtype, uint64_t dtypes, Flavour flavour, const Sink& sink);

void map_cases(ferry_dtype, uint64_t, Flavour, const Sink&);
void reduce_cases(ferry_dtype, uint64_t, Flavour, const Sink&);
void matmul_cases(ferry_dtype, uint64_t, Flavour, const Sink&);
void conv_cases(ferry_dtype, uint64_t, Flavour, const Sink&);
void pool_cases(ferry_dtype, uint64_t, Flavour, const Sink&);
void gather_cases(ferry_dtype, uint64_t, Flavour, const Sink&);
void softmax_cases(ferry_dtype, uint64_t, Flavour, const Sink&);
void layer_norm_cases(ferry_dtype, uint64_t, Flavour, const Sink&);

// What the families' cases are made with.

const char* dtype_name(ferry_dtype dtype);
uint64_t item_size(ferry_dtype dtype);
bool is_floating(ferry_dtype dtype);
/// The compute type of a dtype, as abi/program.h has it.
ferry_dtype compute_of(ferry_dtype dtype);
/// Half the distance of 1 to the next number, in the dtype's compute type.
double unit_of(ferry_dtype dtype);
bool has(uint64_t dtypes, ferry_dtype dtype);
/// The sizes of a flavour.
const std::vector<int64_t>& sizes_of(Flavour flavour);

/// Values in [-limit, limit] as `dtype` holds them, the same for the same seed;
/// whole for integers, not negative for bool and u8.
Operand random_operand(std::vector<int64_t> shape, ferry_dtype dtype, double limit, uint64_t seed);
/// "element 3 is 2, not 4 +- 0.1" for the first element that is further from
/// `want` than `relative` * size + `absolute` and the rounding to the dtype.
std::string compare(ferry_dtype dtype, const Array& got, const Array& want, const Array& size,
                    double relative, double absolute = 0);

}  // namespace ferry::verify

#endif  // FERRY_TOOLS_VERIFY_KERNEL_CASE_H
