# SPDX-License-Identifier: Apache-2.0
#
# Writes print_fixtures.txt: how PyTorch prints the tensors of print_test.cpp.
#
# Usage: python3 make_print_fixtures.py > print_fixtures.txt   (with PyTorch 1.13.1)
import math

import torch

CASES = {
    "scalar": torch.tensor(3.5),
    "whole": torch.tensor([1.0, 2.0, 3.0]),
    "fractions": torch.tensor([0.5, -1.25, 100.125]),
    "small": torch.tensor([1e-5, 1.0]),
    "large": torch.tensor([1e9, 2e9]),
    "spread": torch.tensor([0.001, 1000.5]),
    "special": torch.tensor([1.0, math.nan, math.inf, -math.inf]),
    "special_fraction": torch.tensor([0.5, math.nan, -math.inf]),
    "zeros": torch.zeros(3),
    "nan_only": torch.tensor([math.nan]),
    "matrix": torch.arange(6).reshape(2, 3).float() - 2.5,
    "cube": torch.arange(24).reshape(2, 3, 4),
    "four": torch.arange(16).reshape(2, 2, 2, 2),
    "ints": torch.tensor([-1, 10, 100]),
    "int32": torch.tensor([1, 2], dtype=torch.int32),
    "uint8": torch.tensor([1, 255], dtype=torch.uint8),
    "bools": torch.tensor([True, False]),
    "double": torch.tensor([1.5, 2.5], dtype=torch.float64),
    "half": torch.tensor([1.5, 2.25], dtype=torch.float16),
    "bfloat16": torch.tensor([1.5, 2.25], dtype=torch.bfloat16),
    "empty": torch.zeros(0),
    "empty_matrix": torch.zeros(0, 3),
    "empty_int": torch.zeros(0, dtype=torch.int64),
    "row": torch.arange(40).float(),
    "long": torch.arange(2000),
    "wide": torch.arange(4000).reshape(40, 100),
    "tall": torch.arange(3000).reshape(1000, 3).float() / 7,
    "deep": torch.arange(2400).reshape(10, 12, 20),
    "long_double": torch.arange(30, dtype=torch.float64) / 3,
}


def main():
    print(f"# Made by make_print_fixtures.py with PyTorch {torch.__version__}.")
    for name, tensor in CASES.items():
        print(f"== {name}")
        print(str(tensor).replace("dtype=torch.", "dtype="))
    print("== end")


main()
