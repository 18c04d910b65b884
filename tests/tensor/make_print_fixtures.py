# SPDX-License-Identifier: Apache-2.0
#
# Writes print_fixtures.txt: how PyTorch prints the tensors of print_test.cpp.
#
# Usage: python3 make_print_fixtures.py > print_fixtures.txt   (with PyTorch 1.13.1)
import math

import torch

CASES = {
    "scalar": torch.tensor(3.5),
    "scalar_int": torch.tensor(-5),
    "scalar_bool": torch.tensor(True),
    "scalar_nan": torch.tensor(math.nan),
    "scalar_double": torch.tensor(0.1, dtype=torch.float64),
    "whole": torch.tensor([1.0, 2.0, 3.0]),
    "fractions": torch.tensor([0.5, -1.25, 100.125]),
    "small": torch.tensor([1e-5, 1.0]),
    "just_not_small": torch.tensor([0.0002, 0.1]),
    "large": torch.tensor([1e9, 2e9]),
    "just_not_large": torch.tensor([1e8, -99999992.0]),
    "spread": torch.tensor([0.001, 1000.5]),
    "whole_spread": torch.tensor([1.0, 1001.0]),
    "subnormal": torch.tensor([1e-42, 0.0]),
    "special": torch.tensor([1.0, math.nan, math.inf, -math.inf]),
    "special_fraction": torch.tensor([0.5, math.nan, -math.inf]),
    "special_scientific": torch.tensor([1e-7, math.nan, -math.inf, 0.0, -3.0]),
    "infinite_only": torch.tensor([math.inf, -math.inf]),
    "zeros": torch.zeros(3),
    "negative_zero": torch.tensor([-0.0, 0.0]),
    "negative_zero_fraction": torch.tensor([-0.0, 0.5]),
    "nan_only": torch.tensor([math.nan]),
    "matrix": torch.arange(6).reshape(2, 3).float() - 2.5,
    "transposed": torch.arange(6).reshape(2, 3).t(),
    "cube": torch.arange(24).reshape(2, 3, 4),
    "four": torch.arange(16).reshape(2, 2, 2, 2),
    "ones_of_five": torch.ones(1, 1, 2, 1, 1),
    "ints": torch.tensor([-1, 10, 100]),
    "big_ints": torch.tensor([2**63 - 1, -(2**63)]),
    "int8": torch.tensor([[-128, 127], [0, 5]], dtype=torch.int8),
    "int16": torch.tensor([-32768], dtype=torch.int16),
    "int32": torch.tensor([1, 2], dtype=torch.int32),
    "uint8": torch.tensor([1, 255], dtype=torch.uint8),
    "bools": torch.tensor([True, False]),
    "bool_matrix": torch.tensor([[True, True], [False, True]]),
    "double": torch.tensor([1.5, 2.5], dtype=torch.float64),
    "half": torch.tensor([1.5, 2.25], dtype=torch.float16),
    "half_large": torch.tensor([65504.0, 0.1], dtype=torch.float16),
    "bfloat16": torch.tensor([1.5, 2.25], dtype=torch.bfloat16),
    "empty": torch.zeros(0),
    "empty_matrix": torch.zeros(0, 3),
    "empty_int": torch.zeros(0, dtype=torch.int64),
    "empty_double_cube": torch.zeros(2, 0, 4, dtype=torch.float64),
    "row": torch.arange(40).float(),
    "long_ints": torch.arange(30) * 100000,
    "column": torch.arange(8).reshape(8, 1),
    "thousand": torch.arange(1000),
    "over_thousand": torch.arange(1001).float() / 10,
    "long": torch.arange(2000),
    "wide": torch.arange(4000).reshape(40, 100),
    "tall": torch.arange(3000).reshape(1000, 3).float() / 7,
    "tall_double": torch.arange(3000, dtype=torch.float64).reshape(1000, 3) / 7,
    "deep": torch.arange(2400).reshape(10, 12, 20),
    "long_bools": torch.arange(1200) % 3 == 0,
    "long_double": torch.arange(30, dtype=torch.float64) / 3,
    "suffix_at_the_edge": torch.arange(8, dtype=torch.float64) * 1.5,
    "suffix_over_the_edge": torch.arange(9, dtype=torch.float64) * 1.5,
}


def main():
    print(f"# Made by make_print_fixtures.py with PyTorch {torch.__version__}.")
    for name, tensor in CASES.items():
        print(f"== {name}")
        print(str(tensor).replace("dtype=torch.", "dtype="))
    print("== end")


main()
