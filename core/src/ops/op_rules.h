// SPDX-License-Identifier: Apache-2.0
//
// What the list of scalar ops says of types, for single calls and for fused
// functions alike.
#ifndef FERRY_OPS_OP_RULES_H
#define FERRY_OPS_OP_RULES_H

#include <cstdint>

#include "ferry/dtype.h"

namespace ferry::ops {

/// The columns of abi/scalar_ops.def.
enum class Rule : uint8_t { NONE, SAME, FLOAT, BOOL, INT, WHERE };
struct OpInfo {
  const char* name;
  Rule rule;
  int arity;
};
const OpInfo& op_info(uint16_t code) noexcept;

/// PyTorch's promotion: tensors with dimensions decide within their kind;
/// 0-dim tensors, then numbers, only raise the kind.
class Promotion {
 public:
  void add_tensor(DType dtype, bool zero_dim) { fold(zero_dim ? zero_ : dims_, dtype); }
  void add_number(DType kind) {
    fold(number_, kind == kF64 ? kF32 : kind);  // numbers default to f32
  }
  DType result() const {
    DType out = kBool;
    bool any = false;
    for (const Slot& slot : {dims_, zero_, number_}) {
      if (!slot.used) continue;
      if (!any) {
        out = slot.dtype;
      } else if (kind(slot.dtype) > kind(out)) {
        out = slot.dtype;
      }
      any = true;
    }
    return out;
  }

 private:
  struct Slot {
    DType dtype = kBool;
    bool used = false;
  };
  static void fold(Slot& slot, DType dtype) {
    slot.dtype = slot.used ? promote_types(slot.dtype, dtype) : dtype;
    slot.used = true;
  }
  static int kind(DType d) { return is_floating_point(d) ? 2 : d == kBool ? 0 : 1; }

  Slot dims_, zero_, number_;
};

/// The dtype of an op's result, `common` being the promoted one of its operands.
DType result_type(const OpInfo& op, DType common) noexcept;

/// InvalidArgument for what PyTorch refuses, too: the result would not be what
/// is meant.
void refuse_dtype(uint16_t code, DType common);

}  // namespace ferry::ops

#endif  // FERRY_OPS_OP_RULES_H
