#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens fixtures/written, the files that torch_writer_test.cpp expects Ferry to
write, with PyTorch, and compares all values. By hand:

    python3 check_written.py     (seen to pass with PyTorch 1.13.1)
"""

import math
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent / "fixtures" / "written"
checks = 0


def check(condition, text):
    global checks
    assert condition, text
    checks += 1


def same(value, expected, where=""):
    check(type(value) is type(expected), f"{where}: {type(value)}")
    if isinstance(expected, dict):
        check(list(value) == list(expected), f"{where}: keys {list(value)}")
        for key in expected:
            same(value[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        check(len(value) == len(expected), f"{where}: length")
        for i, entry in enumerate(expected):
            same(value[i], entry, f"{where}[{i}]")
    elif isinstance(expected, torch.Tensor):
        check(value.dtype == expected.dtype and value.shape == expected.shape
              and (value.numel() == 0 or value.stride() == expected.stride()),
              f"{where}: {value}")
        equal = torch.equal(value.nan_to_num(123), expected.nan_to_num(123)) \
            if value.dtype.is_floating_point else torch.equal(value, expected)
        check(equal, f"{where}: {value}")
    else:
        check(value == expected, f"{where}: {value!r}")


def dtypes(file):
    kinds = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
             torch.float16, torch.bfloat16, torch.float32, torch.float64]
    expected = {str(d).replace("torch.", ""): torch.tensor([0, 1, 2]).to(d) for d in kinds}
    expected["scalar"] = torch.tensor(2.5)
    expected["empty"] = torch.zeros(0, 3)
    expected["nan"] = torch.tensor([math.nan, -0.0, math.inf], dtype=torch.float64)
    expected["four"] = torch.arange(24, dtype=torch.int32).view(2, 3, 2, 2)
    same(file, expected)
    check(math.copysign(1, file["nan"][1].item()) == -1, "the sign of zero")


def nested(file):
    w = torch.tensor([1.0, 2.0])
    same(file, {
        "model": {"w": w, "b": torch.tensor([3.0])},
        "optimizer": {"state": {0: {"momentum": w}}},
        "epoch": 3,
        "ints": [0, 255, 256, 65536, -1, -2**63, 2**63 - 1],
        "numbers": (0.1, -math.inf, True, False, None),
        "note": "für später ✓\n",
        "nothing": ([], (), {}),
        -7: "",
    })
    check(file["model"]["w"] is file["optimizer"]["state"][0]["momentum"], "one tensor")


def views(file):
    n, grid = torch.arange(1, 10), torch.arange(12.0).view(3, 4)
    same(file, {"n": n, "every_second": n[1:9:2], "again": n, "grid": grid, "turned": grid.t(),
                "column": grid[:, 2], "wide": grid[1].expand(5, 4)})
    check(file["n"] is file["again"], "one tensor")
    file["every_second"].mul_(2)
    check(file["n"].tolist() == [1, 4, 3, 8, 5, 12, 7, 16, 9], "one storage")
    file["turned"].zero_()
    check(file["column"].abs().sum() == 0, "one storage")


def compact(file):
    base = torch.arange(100000.0)
    same(file, {"head": base[50:60], "part": base[52:60:2]})
    file["head"].zero_()
    check(file["part"].abs().sum() == 0, "one storage")


if __name__ == "__main__":
    # The restricted reader of PyTorch 1 knows no floating-point numbers.
    numbers = [] if torch.__version__.startswith("1.") else [{"weights_only": True}]
    for name in ["dtypes", "nested", "views", "compact"]:
        restricted = numbers if name == "nested" else [{"weights_only": True}]
        for options in [{}, {"map_location": "cpu"}, *restricted]:
            globals()[name](torch.load(HERE / f"{name}.pt", **options))
    print(f"PyTorch {torch.__version__}: {checks} comparisons, all equal")
