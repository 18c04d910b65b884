# SPDX-License-Identifier: Apache-2.0
#
# Writes promotion.inc: the result dtypes of PyTorch for all pairs of operands,
# each a tensor with dimensions, a 0-dim tensor or a number.
#
# Usage: python3 make_promotion.py > promotion.inc     (made with PyTorch 1.13.1)
import itertools

import torch

NAMES = {torch.bool: "kBool", torch.uint8: "kU8", torch.int8: "kI8", torch.int16: "kI16",
         torch.int32: "kI32", torch.int64: "kI64", torch.float16: "kF16",
         torch.bfloat16: "kBF16", torch.float32: "kF32", torch.float64: "kF64"}
NUMBERS = {"true": True, "2": 2, "2.5": 2.5}


def main():
    print("// SPDX-License-Identifier: Apache-2.0")
    print("//")
    print(f"// Made by make_promotion.py with PyTorch {torch.__version__}.")
    print("// kind of a, dtype of a, kind of b, dtype or number of b: add, div, eq")
    for (ka, a), (kb, b) in itertools.product(
            itertools.product(("kDims", "kZeroDim"), NAMES), repeat=2):
        x = torch.ones(2 if ka == "kDims" else (), dtype=a)
        y = torch.ones(2 if kb == "kDims" else (), dtype=b)
        row(f"PAIR({ka}, {NAMES[a]}, {kb}, {NAMES[b]}", x, y)
    for ka, a, (text, number) in itertools.product(("kDims", "kZeroDim"), NAMES, NUMBERS.items()):
        x = torch.ones(2 if ka == "kDims" else (), dtype=a)
        row(f"NUMBER({ka}, {NAMES[a]}, {text}", x, number)


def row(head, x, y):
    results = (NAMES[torch.add(x, y).dtype], NAMES[torch.true_divide(x, y).dtype],
               NAMES[torch.eq(x, y).dtype])
    print(f"{head}, {', '.join(results)})")


main()
