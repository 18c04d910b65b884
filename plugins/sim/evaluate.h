// SPDX-License-Identifier: Apache-2.0
//
// Elements and programs, one element at a time: plain rather than fast.
#ifndef FERRY_SIM_EVALUATE_H
#define FERRY_SIM_EVALUATE_H

#include <cstring>
#include <type_traits>
#include <vector>

#include "ferry/sdk/convert.h"
#include "kernels.h"

namespace ferry::sim {

inline uint64_t item_size(ferry_dtype dtype) {
  return sdk::visit_dtype(dtype, [](auto tag) { return uint64_t{sizeof tag}; });
}

/// Reads and writes one element as a C.
template <class C>
using Load = C (*)(const char*);
template <class C>
using Store = void (*)(char*, C);
template <class C>
Load<C> loader(ferry_dtype dtype) {
  return sdk::visit_dtype(dtype, [](auto tag) -> Load<C> {
    using S = decltype(tag);
    return [](const char* from) {
      S value;
      std::memcpy(&value, from, sizeof value);
      return sdk::load_as<C>(value);
    };
  });
}
template <class C>
Store<C> storer(ferry_dtype dtype) {
  return sdk::visit_dtype(dtype, [](auto tag) -> Store<C> {
    using S = decltype(tag);
    return [](char* to, C value) {
      const S stored = sdk::store_as<S>(value);
      std::memcpy(to, &stored, sizeof stored);
    };
  });
}

/// The elements of a tensor, by offset in elements.
template <class C>
class Elements {
 public:
  explicit Elements(const View& view)
      : data_(view.data),
        item_(static_cast<int64_t>(item_size(view.tensor.dtype))),
        load_(loader<C>(view.tensor.dtype)),
        store_(storer<C>(view.tensor.dtype)) {}
  C get(int64_t offset) const { return load_(data_ + offset * item_); }
  void set(int64_t offset, C value) const { store_(data_ + offset * item_, value); }

 private:
  char* data_;
  int64_t item_;
  Load<C> load_;
  Store<C> store_;
};

/// All elements in row-major order.
template <class C>
std::vector<C> gather_all(const View& view) {
  std::vector<C> out(static_cast<size_t>(view.numel()));
  const Elements<C> from(view);
  Index index(view.tensor);
  for (C& value : out) {
    value = from.get(index.offset_in(view.tensor));
    index.advance();
  }
  return out;
}

/// Stores values in row-major order.
template <class C>
void store_all(const View& view, const std::vector<C>& values) {
  const Elements<C> to(view);
  Index index(view.tensor);
  for (const C value : values) {
    to.set(index.offset_in(view.tensor), value);
    index.advance();
  }
}

/// Whether every step of the program is known here.
bool is_known(const ferry_program& program);

/// One scalar op on values of the compute type.
template <class C>
C apply(uint16_t op, C a, C b, C c);
extern template int32_t apply(uint16_t, int32_t, int32_t, int32_t);
extern template int64_t apply(uint16_t, int64_t, int64_t, int64_t);
extern template float apply(uint16_t, float, float, float);
extern template double apply(uint16_t, double, double, double);

/// A program over the elements of views.
template <class C>
class Program {
 public:
  /// Inputs before `first` are given by value.
  Program(const ferry_program& program, const std::vector<View>& in, size_t first = 0)
      : program_(program), first_(first) {
    for (size_t i = first; i < program.n_in; ++i) {
      inputs_.emplace_back(in[i]);
      tensors_.push_back(&in[i].tensor);
    }
    registers_.resize(size_t{program.n_in} + program.n_const + program.n_insn);
    for (size_t k = 0; k < program.n_const; ++k) {
      registers_[program.n_in + k] = std::is_floating_point_v<C>
                                         ? static_cast<C>(program.constants[k].f)
                                         : static_cast<C>(program.constants[k].i);
    }
  }
  void give(size_t reg, C value) { registers_[reg] = value; }
  /// Evaluates at a position; afterwards result(k) is output k.
  void evaluate(const Index& index) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      registers_[first_ + i] = inputs_[i].get(index.offset_in(*tensors_[i]));
    }
    C* next = registers_.data() + program_.n_in + program_.n_const;
    for (uint32_t s = 0; s < program_.n_insn; ++s) {
      const ferry_insn& insn = program_.insns[s];
      *next++ = insn.op == FERRY_OP_INDEX
                    ? static_cast<C>(index.number())
                    : apply<C>(insn.op, registers_[insn.arg[0]], registers_[insn.arg[1]],
                               registers_[insn.arg[2]]);
    }
  }
  C result(size_t k) const { return registers_[program_.out[k]]; }

 private:
  const ferry_program& program_;
  size_t first_;
  std::vector<Elements<C>> inputs_;
  std::vector<const ferry_tensor*> tensors_;
  std::vector<C> registers_;
};

/// Calls f with a value of a program's compute type.
template <class F>
auto with_compute(ferry_dtype compute, F&& f) {
  switch (compute) {
    case FERRY_I32:
      return f(int32_t{});
    case FERRY_I64:
      return f(int64_t{});
    case FERRY_F64:
      return f(double{});
    default:
      return f(float{});
  }
}

/// The type that elements of `dtype` compute in.
inline ferry_dtype compute_of(ferry_dtype dtype) {
  if (dtype == FERRY_F64 || dtype == FERRY_I64) return dtype;
  return dtype >= FERRY_F16 ? FERRY_F32 : FERRY_I32;
}

}  // namespace ferry::sim

#endif  // FERRY_SIM_EVALUATE_H
