# SPDX-License-Identifier: Apache-2.0
"""Writes fixtures/shapes.pt, the reference of shape_cases_test.

The tests do not run this script; it is needed only to make the file again. The
format is that of make_function_fixtures.py: a list of cases of "op", "in", "args"
and "out", a list of results or None where PyTorch refuses the call, as Ferry must.
Indices are a string with commas: None, ..., numbers, True, slices 1:5:2, and t0, t1,
... for tensors.
"""

import pathlib

import torch
import torch.nn.functional as F

PATH = pathlib.Path(__file__).resolve().parent / "fixtures" / "shapes.pt"
CASES = []


def add(op, call, tensors, **args):
    """One case: what `call` makes of the tensors and arguments."""
    inputs = {k: v.clone() for k, v in tensors.items()}
    try:
        out = call(**{k: v.clone() for k, v in tensors.items()}, **args)
    except (RuntimeError, ValueError, IndexError, TypeError):
        out = None
    if isinstance(out, torch.Tensor):
        out = [out]
    CASES.append({"op": op, "in": inputs, "args": args,
                  "out": None if out is None else [t.contiguous().clone() for t in out]})


def parse(words, tensors):
    """The index that the strings stand for."""
    out = []
    for w in words.split(","):
        if w == "None":
            out.append(None)
        elif w == "...":
            out.append(Ellipsis)
        elif w in ("True", "False"):
            out.append(w == "True")
        elif w[0] == "t":
            out.append(tensors[w])
        elif ":" in w:
            out.append(slice(*(int(p) if p else None for p in w.split(":"))))
        else:
            out.append(int(w))
    return tuple(out)


def put(x, words, value, accumulate=False, **tensors):
    index = parse(words, tensors)
    if accumulate:
        # Python's += would add once for each place.
        x.index_put_(tuple(t for t in index), value, accumulate=True)
    else:
        x[index] = value
    return x


def indexing():
    x = torch.arange(120, dtype=torch.float32).view(2, 3, 4, 5) - 60
    two = {"t0": torch.tensor([1, 0, -1]), "t1": torch.tensor([[0, 2, 1], [-2, 1, 3]])}
    mask = (torch.arange(12).view(3, 4) % 3) == 1
    line = torch.tensor([True, False, True])
    cases = [
        ("0", {}), ("-1,2", {}), ("...,1", {}), ("None,...,0", {}),
        ("1:,None,0", {}), (":,:2,1:4:2,-3:", {}), ("True", {}),
        ("False,0", {}), ("...,None", {}), (":,10:20", {}), ("-1:0", {}),
        ("t0", {"t0": torch.tensor([1, 0, 0, 1])}), (":,t0", two), (":,t0,t1", two),
        ("1,t0,:,t1", two), (":,t0,:,t1", two), ("...,t1", two),
        ("t0,:,t1", {"t0": torch.tensor([1, 0, -1]), "t1": two["t1"]}),
        (":,t0,None,t1", two), (":,t0,0,t1", two),
        ("0,t0,1:3,t1", two), ("None,:,t0,t1", two),
        (":,t0", {"t0": mask}), ("1,t0", {"t0": mask}), ("0,t0", {"t0": line}),
        ("t0,t1", {"t0": torch.tensor([1]), "t1": line}),
        (":,t0,:,t1", {"t0": line, "t1": torch.tensor([4, 0])}),
        ("t0", {"t0": x > 20}), ("t0", {"t0": x > 1000}), ("t0", {"t0": torch.tensor(1)}),
        ("t0", {"t0": torch.tensor(True)}), ("t0,1", {"t0": torch.tensor(False)}),
        ("t0", {"t0": torch.zeros(0, dtype=torch.int64)}),
        (":,:,t0", {"t0": torch.zeros(2, 0, dtype=torch.int64)}),
        # What is refused.
        ("2", {}), ("0,-4", {}), ("0,0,0,0,0", {}),
        ("t0", {"t0": torch.tensor([2])}), (":,t0", {"t0": torch.tensor([0, -4])}),
        ("t0", {"t0": line}), (":,t0,t1", {"t0": torch.tensor([0, 1]), "t1": two["t1"]}),
        (":,0:2:0", {}), (":,2:0:-1", {}),
        ("t0", {"t0": torch.tensor([0.5])}),
    ]
    for words, tensors in cases:
        add("index", lambda x, words, **t: x[parse(words, t)], {"x": x, **tensors}, words=words)
        try:
            places = torch.arange(x.numel()).view(x.shape)[parse(words, tensors)]
        except (IndexError, ValueError):
            places = torch.zeros(1)
        values = [torch.tensor(7.0)]
        # Of several values for one place any may stay.
        if places.unique().numel() == places.numel():
            values.append(torch.arange(places.numel()).view(places.shape) + 0.5)
        for value in values:
            add("index_put", put, {"x": x, "value": value, **tensors}, words=words)
        if tensors and "True" not in words:
            add("index_put", lambda x, words, value, accumulate, **t:
                put_added(x, words, value, t), {"x": x, "value": torch.tensor(2.0), **tensors},
                words=words, accumulate=True)
    matrix = torch.arange(12).view(3, 4)
    add("index_put", put, {"x": matrix, "value": torch.tensor([[1], [2]]),
                           "t0": torch.tensor([0, 2])}, words="t0")
    add("index_put", put, {"x": matrix, "value": torch.tensor([[[5, 6]]]),
                           "t0": torch.tensor([3, 1])}, words=":,t0")
    add("index_put", put, {"x": matrix, "value": torch.tensor([1, 2, 3]),
                           "t0": torch.tensor([0, 2])}, words="t0")
    add("index_put", put, {"x": matrix, "value": torch.tensor([1, 2, 3])}, words="0")
    add("index_put", put, {"x": matrix, "value": torch.tensor([9, 8, 7]),
                           "t0": matrix > 8}, words="t0")


def put_added(x, words, value, tensors):
    """+= of every element of the index, of which x's places may come twice."""
    places = torch.arange(x.numel()).view(x.shape)[parse(words, tensors)]
    flat = x.view(-1)
    flat.index_add_(0, places.reshape(-1), value.expand(places.shape).reshape(-1))
    return x


def shapes():
    x = torch.arange(24, dtype=torch.float32).view(2, 3, 4)
    m = torch.randn(4, 5)
    for source, place in (([0], [2]), ([0, 1], [-1, 0]), ([2], [0]), ([0, 0], [1, 2]), ([3], [0])):
        add("movedim", lambda x, a, b: torch.movedim(x, a, b), {"x": x}, a=source, b=place)
    for size, dim in ((2, 2), (3, 2), (4, 0), (0, 1), (-1, 0), (1, 3)):
        add("split", lambda x, size, dim: torch.split(x, size, dim), {"x": x}, size=size, dim=dim)
    for sizes, dim in (([1, 3], 2), ([0, 2], 0), ([1, 1], 1)):
        add("split_sizes", lambda x, sizes, dim: torch.split(x, sizes, dim), {"x": x}, sizes=sizes,
            dim=dim)
    for n, dim in ((2, 2), (3, 2), (5, 1), (1, 0), (0, 0)):
        add("chunk", torch.chunk, {"input": x}, chunks=n, dim=dim)
        add("tensor_split", lambda x, n, dim: torch.tensor_split(x, n, dim), {"x": x}, n=n, dim=dim)
    add("chunk", torch.chunk, {"input": torch.zeros(0, 2)}, chunks=3, dim=0)
    for at in ([1, 3], [2], [], [3, 1], [-1], [9]):
        add("tensor_split_at", lambda x, at, dim: torch.tensor_split(x, at, dim), {"x": x}, at=at,
            dim=2)
    add("unbind", torch.unbind, {"input": x}, dim=1)
    add("unbind", torch.unbind, {"input": torch.tensor(1.0)}, dim=0)
    for dim, size, step in ((2, 2, 1), (2, 3, 2), (1, 3, 1), (0, 0, 1), (2, 5, 1), (2, 2, 0)):
        add("unfold", lambda x, dim, size, step: x.unfold(dim, size, step), {"x": x}, dim=dim,
            size=size, step=step)
    for offset, d1, d2 in ((0, 0, 1), (1, 1, 2), (-1, 0, 2), (9, 1, 2), (-9, 1, 2), (0, -1, 0),
                           (0, 1, 1)):
        add("diagonal", torch.diagonal, {"input": x}, offset=offset, dim1=d1, dim2=d2)
    for dims in ([0], [2, 1], [], [0, 0], [3], [-1, 0]):
        add("flip", lambda x, dims: torch.flip(x, dims), {"x": x}, dims=dims)
    for shifts, dims in (([1], [2]), ([-1, 5], [0, 2]), ([3], []), ([1, 1], [1, 1]), ([1, 2], [0])):
        add("roll", lambda x, shifts, dims: torch.roll(x, shifts, dims), {"x": x}, shifts=shifts,
            dims=dims)
    for times in ([2, 1, 3], [2, 1, 1, 2], [1, 1, 1], [0, 1, 1], [2, 2], [1, -1, 1]):
        add("repeat", lambda x, times: x.repeat(times), {"x": x}, times=times)
    for times in ([2], [1, 2], [2, 1, 1, 1], []):
        add("tile", lambda x, times: torch.tile(x, times), {"x": x}, times=times)
    for n, dim in ((2, 0), (3, -1), (0, 1), (-1, 0)):
        add("repeat_interleave", lambda x, n, dim: torch.repeat_interleave(x, n, dim), {"x": x},
            n=n, dim=dim)
    add("repeat_interleave", lambda x, n: torch.repeat_interleave(x, n), {"x": m}, n=2)
    for dim in (0, 1, -1, 2, 3):
        add("stack", lambda a, b, dim: torch.stack([a, b], dim), {"a": m, "b": m + 1}, dim=dim)
    add("stack", lambda a, b, dim: torch.stack([a, b], dim), {"a": m, "b": m[:2]}, dim=0)
    for a, b in ((m, m[:, :2]), (m, m[:1]), (m[0], m[1]), (m[0, 0], m[0]), (x, x[:, :1])):
        add("hstack", lambda a, b: torch.hstack([a, b]), {"a": a, "b": b})
        add("vstack", lambda a, b: torch.vstack([a, b]), {"a": a, "b": b})
    for padding in ([1, 2], [0, 1, 2, 0], [1, 1, 1, 1, 1, 1], [-1, 1], [-1, -2], [-3, 0, 0, 1],
                    [1], [-5, 0], [0] * 8):
        add("pad", lambda x, padding, mode, value: F.pad(x, padding, mode, value), {"x": x},
            padding=padding, mode="constant", value=1.5)
    image, deep = x[None], x[None, :, :, :3, None].expand(1, 2, 3, 3, 2)
    for mode in ("reflect", "replicate", "circular"):
        for padding in ([1, 2], [2, 2], [0, 3]):
            add("pad", lambda x, padding, mode: F.pad(x, padding, mode), {"x": x}, padding=padding,
                mode=mode)
        add("pad", lambda x, padding, mode: F.pad(x, padding, mode), {"x": image},
            padding=[1, 2, 2, 1], mode=mode)
        add("pad", lambda x, padding, mode: F.pad(x, padding, mode), {"x": deep},
            padding=[1, 0, 2, 1, 1, 2], mode=mode)
    for bad, mode in (([4, 0], "reflect"), ([5, 0], "circular")):
        add("pad", lambda x, padding, mode: F.pad(x, padding, mode), {"x": x}, padding=bad,
            mode=mode)
    for k in (0, 1, -1, 7, -7):
        for op, f in (("tril", torch.tril), ("triu", torch.triu)):
            add(op, f, {"input": m}, diagonal=k)
            add(op, f, {"input": x.to(torch.int32)}, diagonal=k)
        add("diag", torch.diag, {"input": m[0]}, diagonal=k)
    for k in (0, 1, -2):
        add("diag", torch.diag, {"input": m}, diagonal=k)
    add("tril", torch.tril, {"input": m[0]}, diagonal=0)
    add("diag", torch.diag, {"input": x}, diagonal=0)
    for n, k in ((3, 3), (2, 4), (4, 2), (0, 3), (-1, 2)):
        add("eye", lambda n, m: torch.eye(n, m), {}, n=n, m=k)
    for a, b, n in ((0.0, 1.0, 5), (3.0, -2.0, 7), (1.0, 1.0, 3), (2.0, 9.0, 1), (0.0, 1.0, 0),
                    (0.0, 1.0, -1)):
        add("linspace", lambda a, b, n: torch.linspace(a, b, n), {}, a=a, b=b, n=n)
    for order in ("ij", "xy"):
        add("meshgrid", lambda a, b, order: torch.meshgrid(a, b, indexing=order),
            {"a": torch.arange(3), "b": torch.arange(2)}, order=order)
        add("meshgrid", lambda a, b, order: torch.meshgrid(a, b, indexing=order),
            {"a": torch.arange(3), "b": torch.tensor(5)}, order=order)
    add("meshgrid", lambda a, b, order: torch.meshgrid(a, b, indexing=order),
        {"a": torch.arange(3), "b": torch.arange(2)}, order="yx")
    for c, n in (([0, 2, 1], -1), ([0, 2, 1], 5), ([0, 2, 1], 2), ([-1, 0], -1)):
        add("one_hot", lambda x, n: F.one_hot(x, n), {"x": torch.tensor(c)}, n=n)
    add("one_hot", lambda x, n: F.one_hot(x, n), {"x": torch.tensor([[1, 0], [2, 2]])}, n=-1)
    add("outer", torch.outer, {"input": m[0], "vec2": m[:, 1]})
    add("outer", torch.outer, {"input": m, "vec2": m[0]})


def scattering():
    x = torch.arange(15, dtype=torch.float32).view(3, 5)
    source = torch.arange(1, 16, dtype=torch.float32).view(3, 5) / 2
    index = torch.tensor([[0, 1, 2, 0, 2], [2, 2, 0, 1, 1]])
    wide = torch.tensor([[0, 4, 2], [3, 3, 0], [1, 0, 1]])
    for dtype in (torch.float32, torch.int64, torch.float64):
        a, s = x.to(dtype), source.to(dtype)
        for dim, i in ((0, index), (1, wide), (-2, index[:1])):
            add("scatter_add", torch.scatter_add, {"input": a, "index": i, "src": s}, dim=dim)
            for op in ("sum", "prod", "mean", "amax", "amin"):
                for self_too in (True, False):
                    add("scatter_reduce", torch.scatter_reduce,
                        {"input": a, "index": i, "src": s}, dim=dim, reduce=op,
                        include_self=self_too)
    add("scatter_reduce", lambda input, index, src, dim, reduce, include_self:
        torch.scatter_reduce(input, dim, index, src, reduce, include_self=include_self),
        {"input": -x.to(torch.int32), "index": index, "src": source.to(torch.int32)}, dim=0,
        reduce="mean", include_self=True)
    one = torch.tensor([[0, 1, 2, 0, 1], [2, 0, 1, 1, 0], [1, 2, 0, 2, 2]])
    add("scatter", torch.scatter, {"input": x, "index": one, "src": source}, dim=0)
    add("scatter", torch.scatter, {"input": x, "index": one[:2, :3], "src": source}, dim=1)
    add("scatter_value", torch.scatter, {"input": x, "index": index}, dim=0, value=2.5)
    nothing = torch.zeros(0, 5, dtype=torch.int64)
    add("scatter", torch.scatter, {"input": x, "index": nothing, "src": source}, dim=0)
    add("scatter", torch.scatter, {"input": x, "index": torch.zeros(4, 5, dtype=torch.int64),
                                   "src": source}, dim=0)
    add("scatter", torch.scatter, {"input": x, "index": one[0], "src": source}, dim=0)
    add("scatter", torch.scatter, {"input": x, "index": one, "src": source.double()}, dim=0)
    add("scatter", torch.scatter, {"input": x, "index": one.float(), "src": source}, dim=0)
    rows = torch.tensor([2, 0, 2])
    for alpha in (1, 3):
        add("index_add", lambda x, index, source, dim, alpha:
            x.index_add(dim, index, source, alpha=alpha),
            {"x": x, "index": rows, "source": source}, dim=0, alpha=alpha)
    add("index_add", lambda x, index, source, dim, alpha: x.index_add(dim, index, source),
        {"x": x, "index": rows, "source": source[:, :3]}, dim=1, alpha=1)
    add("index_add", lambda x, index, source, dim, alpha: x.index_add(dim, index, source),
        {"x": x, "index": rows, "source": source[:2]}, dim=0, alpha=1)
    add("index_copy", lambda x, index, source, dim: x.index_copy(dim, index, source),
        {"x": x, "index": torch.tensor([4, 1]), "source": source[:, :2]}, dim=-1)
    add("index_fill", lambda x, index, dim, value: x.index_fill(dim, index, value),
        {"x": x, "index": torch.tensor([0, -1])}, dim=1, value=-4.0)
    mask = x % 2 == 0
    for m in (mask, mask[0], mask[:, :1]):
        add("masked_fill", lambda x, mask, value: x.masked_fill(mask, value), {"x": x, "mask": m},
            value=9.0)
        add("masked_select", lambda x, mask: x.masked_select(mask), {"x": x, "mask": m})
    add("masked_select", lambda x, mask: x.masked_select(mask), {"x": x, "mask": x})
    add("nonzero", torch.nonzero, {"input": x % 4})
    add("nonzero", torch.nonzero, {"input": mask})
    add("nonzero", torch.nonzero, {"input": torch.tensor(3.0)})
    add("nonzero", torch.nonzero, {"input": torch.zeros(2, 0)})
    add("take", torch.take, {"input": x, "index": torch.tensor([[0, 14], [-1, -15]])})
    add("take", torch.take, {"input": x, "index": torch.tensor([15])})
    add("take_along_dim", torch.take_along_dim, {"input": x, "indices": one[:1]}, dim=0)
    add("take_along_dim", torch.take_along_dim, {"input": x, "indices": wide[:, :1]}, dim=1)
    add("take_along_dim", torch.take_along_dim, {"input": x, "indices": torch.tensor([14, 0])})


def sorting():
    x = torch.tensor([[3.0, -1, 2, 7, 0], [5, 4, -8, 1, 9], [6, 8, -3, -2, 11]])
    nan = torch.tensor([2.0, float("nan"), -1.0, float("inf"), float("-inf")])
    for t in (x, x.to(torch.int16), x.to(torch.float16), nan, torch.tensor(4.0)):
        for dim in (-1, 0, 1):
            for descending in (False, True):
                add("sort", torch.sort, {"input": t}, dim=dim, descending=descending)
    add("sort", lambda input, dim, descending: torch.sort(input, dim=dim, descending=descending,
                                                          stable=True),
        {"input": torch.tensor([1, 0, 1, 0, 2, 1])}, dim=0, descending=False)
    add("sort", lambda input, dim, descending: torch.sort(input, dim=dim, descending=descending,
                                                          stable=True),
        {"input": torch.tensor([1, 0, 1, 0, 2, 1])}, dim=0, descending=True)
    for k, dim in ((2, 1), (3, 0), (0, 1), (5, -1), (6, 1), (-1, 1)):
        for largest in (True, False):
            add("topk", torch.topk, {"input": x}, k=k, dim=dim, largest=largest)
    for t in (x, x.to(torch.int32), x > 2, nan, torch.tensor(4.0), torch.zeros(0, 3)):
        for dim in (0, -1, 1):
            add("cumsum", lambda x, dim: torch.cumsum(x, dim), {"x": t}, dim=dim)
            add("cumprod", lambda x, dim: torch.cumprod(x, dim), {"x": t}, dim=dim)
    for t in (torch.tensor([[3, 1], [3, 2]]), x, torch.tensor([True, False, True]),
              torch.tensor([2.5]), torch.zeros(0)):
        add("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), {"x": t})
    counted = torch.tensor([0, 3, 1, 1, 3, 3])
    add("bincount", torch.bincount, {"input": counted}, minlength=0)
    add("bincount", torch.bincount, {"input": counted}, minlength=9)
    add("bincount", torch.bincount, {"input": counted, "weights": torch.rand(6)}, minlength=0)
    add("bincount", torch.bincount, {"input": counted, "weights": torch.arange(6)}, minlength=0)
    add("bincount", torch.bincount, {"input": counted, "weights": torch.rand(5)}, minlength=0)
    add("bincount", torch.bincount, {"input": counted - 1}, minlength=0)
    add("bincount", torch.bincount, {"input": counted[:0]}, minlength=2)
    line = torch.tensor([1.0, 3, 3, 3, 7, 9])
    for right in (False, True):
        for values in (torch.tensor([[0.0, 3], [9, 10]]), torch.tensor(7.0), nan[:4],
                       torch.zeros(0)):
            add("searchsorted", torch.searchsorted, {"sorted_sequence": line, "input": values},
                right=right)
        add("searchsorted", torch.searchsorted,
            {"sorted_sequence": torch.sort(x, 1)[0], "input": x[:, :2] + 1}, right=right)
        add("searchsorted", torch.searchsorted,
            {"sorted_sequence": line[:0], "input": x}, right=right)
    add("searchsorted", torch.searchsorted, {"sorted_sequence": x, "input": x[:2]}, right=False)


def compact():
    """Makes all tensors of a dtype views of one storage, equal ones the same view."""
    pools, views = {}, {}
    for case in CASES:
        for group in (case["in"], case["out"] or []):
            for key in group.keys() if isinstance(group, dict) else range(len(group)):
                flat = group[key].reshape(-1)
                name = (flat.dtype, bytes(flat.numpy().tobytes()))
                if name not in views:
                    pool = pools.setdefault(flat.dtype, [])
                    views[name] = sum(t.numel() for t in pool)
                    pool.append(flat)
    # One element more, so that an empty view lies inside, too.
    whole = {d: torch.cat(pool + [torch.zeros(1, dtype=d)]) for d, pool in pools.items()}
    for case in CASES:
        for group in (case["in"], case["out"] or []):
            for key in group.keys() if isinstance(group, dict) else range(len(group)):
                t = group[key]
                at = views[(t.dtype, bytes(t.reshape(-1).numpy().tobytes()))]
                group[key] = whole[t.dtype][at:at + t.numel()].view(t.shape)


def main():
    torch.manual_seed(20260301)
    indexing()
    shapes()
    scattering()
    sorting()
    compact()
    PATH.parent.mkdir(exist_ok=True)
    torch.save(CASES, PATH)
    print(len(CASES), "cases,", sum(case["out"] is None for case in CASES), "of them refused,",
          PATH.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
