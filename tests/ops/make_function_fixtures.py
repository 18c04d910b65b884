# SPDX-License-Identifier: Apache-2.0
"""Writes fixtures/functions.pt, the reference of functional_test and losses_test.

The tests do not run this script; it is needed only to make the file again. The
file is a list of cases: "op", the function; "in", its tensors; "args", numbers,
strings and lists; "out", a list of results, or None where PyTorch refuses the
call, as Ferry must. All tensors of a dtype are views of one storage, which
keeps the file small.
"""

import math
import pathlib

import torch
import torch.nn.functional as F

PATH = pathlib.Path(__file__).resolve().parent / "fixtures" / "functions.pt"
CASES = []


def add(op, call, tensors, **args):
    """One case: what `call` makes of the tensors and arguments."""
    try:
        out = call(**tensors, **args)
    except (RuntimeError, ValueError, IndexError, TypeError):
        out = None
    if isinstance(out, torch.Tensor):
        out = [out]
    CASES.append({"op": op, "in": dict(tensors), "args": args,
                  "out": None if out is None else list(out)})


def refused(op, tensors, **args):
    """One case that PyTorch refuses in words of another signature."""
    CASES.append({"op": op, "in": dict(tensors), "args": args, "out": None})


def statistics():
    x, y = torch.randn(3, 4, 5), torch.randn(6)
    for dims in ([0], [1, 2], [-1]):
        for correction in (0, 1):
            for op, f in (("var", torch.var), ("std", torch.std)):
                add(op, lambda x, dims, correction, f=f: f(x, dims, correction=correction),
                    {"x": x}, dims=dims, correction=correction)
    add("var", lambda x, dims, correction: torch.var(x, dims, correction=correction, keepdim=False),
        {"x": y[:1]}, dims=[0], correction=1)
    add("var", lambda x, dims, correction: torch.var(x, dims, correction=correction),
        {"x": y}, dims=[3], correction=1)
    for p in (0.0, 1.0, 2.0, 3.0, 0.5, math.inf, -math.inf):
        for dims in ([1], [0, 2]):
            add("norm", lambda x, p, dims: torch.linalg.vector_norm(x, p, dims),
                {"x": x}, p=p, dims=dims)
    for big in (x, x * 300, x - math.inf, torch.tensor([[math.inf, 1.0], [-math.inf, 2.0]])):
        add("logsumexp", torch.logsumexp, {"input": big}, dim=[-1])
    add("logsumexp", torch.logsumexp, {"input": x}, dim=[0, 1])
    for dim in (0, 1, -1, 3):
        for op, f in (("max", torch.max), ("min", torch.min)):
            add(op, f, {"input": x}, dim=dim)
            add(op, f, {"input": (x * 3).to(torch.int64)[..., :1]}, dim=dim)
    nan = x.clone()
    nan[1, 2, 3] = math.nan
    add("max", torch.max, {"input": nan}, dim=1)
    add("count_nonzero", torch.count_nonzero, {"input": (x * 2).to(torch.int64)}, dim=[0, 2])
    add("count_nonzero", torch.count_nonzero, {"input": x > 0}, dim=[1])
    for dim in (0, 1, -1):
        add("cosine_similarity", F.cosine_similarity, {"x1": x, "x2": torch.randn(3, 4, 5)}, dim=dim)
    add("cosine_similarity", F.cosine_similarity, {"x1": x, "x2": torch.zeros(5)}, dim=-1)


def products():
    a, b, c = torch.randn(3, 2, 4), torch.randn(3, 4, 5), torch.randn(2, 5)
    add("bmm", torch.bmm, {"input": a, "mat2": b})
    add("bmm", torch.bmm, {"input": a, "mat2": a})
    add("bmm", torch.bmm, {"input": a[0], "mat2": b[0]})
    add("mv", torch.mv, {"input": a[0], "vec": torch.randn(4)})
    add("mv", torch.mv, {"input": a[0], "vec": torch.randn(3)})
    for beta, alpha in ((1.0, 1.0), (0.5, -2.0), (0.0, 1.0)):
        for bias in (c, c[0], c[:, :1]):
            add("addmm", torch.addmm, {"input": bias, "mat1": a[0], "mat2": b[0]},
                beta=beta, alpha=alpha)
        add("baddbmm", torch.baddbmm, {"input": c, "batch1": a, "batch2": b},
            beta=beta, alpha=alpha)
    add("addmm", torch.addmm, {"input": torch.randn(3, 5), "mat1": a[0], "mat2": b[0]},
        beta=1.0, alpha=1.0)
    m, n, v = torch.randn(3, 4), torch.randn(4, 5), torch.randn(4)
    square, deep = torch.randn(4, 4), torch.randn(2, 3, 4, 5)
    for equation, operands in (
            ("ij,jk->ik", [m, n]), ("ij,jk", [m, n]), ("ij,jk->ki", [m, n]), ("ij->ji", [m]),
            ("ij->", [m]), ("ij->j", [m]), ("ii->i", [square]), ("ii", [square]),
            ("i,i->", [v, v]), ("i,j->ij", [v, m[:, 0]]), ("bij,bjk->bik", [a, b]),
            ("bij,bjk->ik", [a, b]), ("...ij,...jk->...ik", [deep, torch.randn(3, 5, 2)]),
            ("...ij->...ji", [deep]), ("b...->...", [deep]), ("abcd->dcba", [deep]),
            ("ij,jk,kl->il", [m, n, torch.randn(5, 2)]), ("ij,kj,kl->il", [m, m, torch.randn(3, 2)]),
            ("bhqd,bhkd->bhqk", [deep, deep]), ("ij,ij->ij", [m, m]), ("i j , j k -> i k", [m, n]),
            ("ij,j->", [m, v]), ("bi,oij,bj->bo", [torch.randn(2, 3), torch.randn(5, 3, 4),
                                                 torch.randn(2, 4)]),
            ("iij->ij", [torch.randn(3, 3, 2)]), ("ij,jk->ik", [m, torch.randn(1, 5)]),
            ("...,...->...", [m, v]), ("Ab,bA->A", [m, m.t()]), ("ij", [m]), ("ba", [m]),
            ("ij,ik->jk", [m.to(torch.int64), (m * 5).to(torch.int64)]),
            # What is refused.
            ("ij,jk->ik", [m]), ("ij,jk->ix", [m, n]), ("i->ii", [v]), ("ij", [v]), ("i1", [m]),
            ("ij,jk->ik", [m, torch.randn(3, 5)]), ("ii", [m]), ("i..j", [m]), ("i", [m]),
            ("......ij", [m])):
        tensors = {f"x{i}": t for i, t in enumerate(operands)}
        add("einsum", lambda equation, **t: torch.einsum(equation, *t.values()), tensors,
            equation=equation)


def losses():
    x, p = torch.randn(6, 4), torch.softmax(torch.randn(6, 4), 1)
    image, classes = torch.randn(2, 3, 4, 2), torch.randint(0, 3, (2, 4, 2))
    t, w = torch.tensor([0, 3, 1, 1, 2, 0]), torch.rand(4) + 0.2
    for reduction in ("none", "mean", "sum"):
        for smoothing in (0.0, 0.2):
            for weight in ({}, {"weight": w}):
                add("cross_entropy", F.cross_entropy, {"input": x, "target": t, **weight},
                    ignore_index=1, label_smoothing=smoothing, reduction=reduction)
                add("cross_entropy", F.cross_entropy, {"input": x, "target": p, **weight},
                    label_smoothing=smoothing, reduction=reduction)
        add("cross_entropy", F.cross_entropy, {"input": image, "target": classes}, reduction=reduction)
        add("cross_entropy", F.cross_entropy, {"input": x[0], "target": t[0]}, reduction=reduction)
        add("nll_loss", F.nll_loss, {"input": torch.log_softmax(x, 1), "target": t, "weight": w},
            ignore_index=1, reduction=reduction)
        y = torch.randn(6, 4)
        for op, f in (("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss)):
            add(op, f, {"input": x, "target": y}, reduction=reduction)
        for beta in (0.0, 0.5, 1.0):
            add("smooth_l1_loss", F.smooth_l1_loss, {"input": x, "target": y}, beta=beta,
                reduction=reduction)
        for delta in (0.5, 1.5):
            add("huber_loss", F.huber_loss, {"input": x, "target": y}, delta=delta,
                reduction=reduction)
        add("bce", F.binary_cross_entropy_with_logits, {"input": x * 30, "target": p},
            reduction=reduction)
        add("bce", F.binary_cross_entropy_with_logits,
            {"input": x, "target": p, "pos_weight": w, "weight": torch.rand(6, 1)},
            reduction=reduction)
        add("kl_div", F.kl_div, {"input": torch.log_softmax(x, 1), "target": p}, reduction=reduction,
            log_target=False)
        add("kl_div", F.kl_div, {"input": torch.log_softmax(x, 1), "target": p.log()},
            reduction=reduction, log_target=True)
    zero = p.clone()
    zero[0, 1] = 0
    add("kl_div", F.kl_div, {"input": torch.log_softmax(x, 1), "target": zero}, reduction="sum",
        log_target=False)
    add("cross_entropy", F.cross_entropy, {"input": x, "target": torch.full((6,), 1)},
        ignore_index=1, reduction="mean")
    add("cross_entropy", F.cross_entropy, {"input": x, "target": t[:4]}, reduction="mean")
    add("cross_entropy", F.cross_entropy, {"input": x, "target": t, "weight": w[:3]}, reduction="mean")
    add("cross_entropy", F.cross_entropy, {"input": x, "target": p[:, :3]}, reduction="mean")
    add("cross_entropy", F.cross_entropy, {"input": x, "target": t}, label_smoothing=1.5,
        reduction="mean")
    add("nll_loss", F.nll_loss, {"input": x, "target": p}, reduction="mean")
    add("bce", F.binary_cross_entropy_with_logits, {"input": x, "target": p[:3]}, reduction="mean")
    add("smooth_l1_loss", F.smooth_l1_loss, {"input": x, "target": p}, beta=-1.0, reduction="mean")
    add("huber_loss", F.huber_loss, {"input": x, "target": p}, delta=0.0, reduction="mean")


def norms():
    x, w, b = torch.randn(2, 6, 3, 4), torch.rand(6) + 0.5, torch.randn(6)
    for eps in (1e-5, 0.1):
        add("layer_norm", F.layer_norm, {"input": x}, normalized_shape=[3, 4], eps=eps)
        add("layer_norm", F.layer_norm, {"input": x, "weight": torch.rand(4), "bias": torch.randn(4)},
            normalized_shape=[4], eps=eps)
        for groups in (1, 2, 6):
            add("group_norm", F.group_norm, {"input": x, "weight": w, "bias": b},
                num_groups=groups, eps=eps)
        add("instance_norm", F.instance_norm, {"input": x, "weight": w, "bias": b}, eps=eps)
        add("rms_norm", lambda input, weight, normalized_shape, eps:
            input * torch.rsqrt((input ** 2).mean(-1, keepdim=True) + eps) * weight,
            {"input": x, "weight": torch.rand(4)}, normalized_shape=[4], eps=eps)
    add("group_norm", F.group_norm, {"input": x}, num_groups=4, eps=1e-5)
    add("layer_norm", F.layer_norm, {"input": x}, normalized_shape=[4, 3], eps=1e-5)
    add("layer_norm", F.layer_norm, {"input": x, "weight": w}, normalized_shape=[4], eps=1e-5)


def attend(query, key, value, mask=None, is_causal=False, scale=None):
    if query.dim() > 2:
        times = query.size(-3) // key.size(-3)
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)
    scale = scale or 1 / math.sqrt(query.size(-1))
    scores = query @ key.transpose(-1, -2) * scale
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask
    return torch.softmax(scores, -1) @ value


def attention():
    q, k, v = torch.randn(2, 4, 3, 6), torch.randn(2, 4, 5, 6), torch.randn(2, 4, 5, 2)
    allowed = torch.rand(3, 5) > 0.4
    allowed[:, 0] = True
    for heads in (4, 2, 1):
        three = {"query": q, "key": k[:, :heads], "value": v[:, :heads]}
        add("attention", attend, three)
        add("attention", attend, three, scale=0.3)
        add("attention", attend, three, is_causal=True)
        add("attention", attend, {**three, "mask": allowed})
        add("attention", attend, {**three, "mask": torch.randn(4, 3, 5)})
    add("attention", attend, {"query": q[0, 0], "key": k[0, 0], "value": v[0, 0]})
    refused("attention", {"query": q, "key": k[..., :5], "value": v})
    refused("attention", {"query": q, "key": k[:, :3], "value": v[:, :3]})
    refused("attention", {"query": q, "key": k, "value": v, "mask": allowed}, is_causal=True)
    refused("attention", {"query": q, "key": k, "value": v, "mask": allowed[:2]})


def images():
    x, line = torch.randn(2, 3, 5, 4), torch.randn(2, 4, 9)
    for size in ([10, 8], [3, 7], [5, 4], [1, 1]):
        add("interpolate", F.interpolate, {"input": x}, size=size, mode="nearest")
        for corners in (False, True):
            add("interpolate", F.interpolate, {"input": x}, size=size, mode="bilinear",
                align_corners=corners)
    for scale in ([2.0, 3.0], [0.6, 0.5], [1.7]):
        factor = scale if len(scale) == 2 else scale * 2
        add("interpolate", lambda input, mode, scale_factor, f=factor:
            F.interpolate(input, scale_factor=tuple(f), mode=mode), {"input": x}, mode="nearest",
            scale_factor=scale)
        add("interpolate", lambda input, mode, scale_factor, align_corners, f=factor:
            F.interpolate(input, scale_factor=tuple(f), mode=mode, align_corners=align_corners),
            {"input": x}, mode="bilinear", scale_factor=scale, align_corners=False)
    add("interpolate", F.interpolate, {"input": line}, size=[4], mode="nearest")
    refused("interpolate", {"input": x}, size=[0, 3], mode="nearest")
    refused("interpolate", {"input": x}, mode="nearest")
    refused("interpolate", {"input": x}, size=[2], scale_factor=[2.0], mode="nearest")
    refused("interpolate", {"input": x[0, 0]}, size=[2, 2], mode="nearest")
    w1 = torch.randn(6, 2, 3)
    for o in ({}, {"stride": 2}, {"padding": 2, "dilation": 2}):
        args = {"stride": 1, "padding": 0, "dilation": 1, "groups": 2, **o}
        add("conv1d", F.conv1d, {"input": line, "weight": w1, "bias": torch.randn(6)}, **args)
    add("conv1d", F.conv1d, {"input": line[0], "weight": torch.randn(2, 4, 1)}, groups=1)
    add("conv1d", F.conv1d, {"input": line, "weight": w1}, groups=1)
    image, w2 = torch.randn(2, 4, 3, 4), torch.randn(4, 3, 3, 2)
    for o in ({}, {"stride": [2, 3]}, {"padding": [1, 0]}, {"stride": [2, 2], "padding": [1, 1],
              "output_padding": [1, 0]}, {"dilation": [2, 1]}, {"groups": 2, "stride": [3, 1]},
              {"dilation": [1, 3], "stride": [2, 2], "padding": [0, 2], "groups": 4},
              {"output_padding": [1, 1]}, {"padding": [4, 4]}, {"groups": 3}):
        args = {"stride": [1, 1], "padding": [0, 0], "output_padding": [0, 0], "dilation": [1, 1],
                "groups": 1, **o}
        bias = torch.randn(3 * args["groups"])
        add("conv_transpose2d", F.conv_transpose2d, {"input": image, "weight": w2, "bias": bias},
            **args)
    add("conv_transpose2d", F.conv_transpose2d, {"input": image, "weight": w2[:3]}, groups=1)
    for size in ([1, 1], [5, 2], [2, 3], [7, 5], [5, 4]):
        add("adaptive_avg_pool2d", F.adaptive_avg_pool2d, {"input": x}, output_size=size)
    for o in ({}, {"kernel_size": 3, "stride": 2, "padding": 1}, {"dilation": 2},
              {"kernel_size": 4, "ceil_mode": True}, {"padding": 2}, {"kernel_size": 12}):
        args = {"kernel_size": 2, "stride": 2, "padding": 0, "dilation": 1, "ceil_mode": False, **o}
        add("max_pool1d", F.max_pool1d, {"input": line}, **args)


def compact():
    """Makes all tensors of a dtype views of one storage."""
    found = {}
    for case in CASES:
        for tensor in list(case["in"].values()) + (case["out"] or []):
            found.setdefault(tensor.dtype, {})[id(tensor)] = tensor
    views = {}
    for dtype, tensors in found.items():
        flat = torch.cat([t.reshape(-1) for t in tensors.values()] + [torch.zeros(1, dtype=dtype)])
        at = 0
        for key, tensor in tensors.items():
            views[key] = flat[at:at + tensor.numel()].view(tensor.shape)
            at += tensor.numel()
    for case in CASES:
        case["in"] = {k: views[id(t)] for k, t in case["in"].items()}
        case["out"] = None if case["out"] is None else [views[id(t)] for t in case["out"]]


if __name__ == "__main__":
    torch.manual_seed(12)
    for make in (statistics, products, losses, norms, attention, images):
        make()
    compact()
    PATH.parent.mkdir(exist_ok=True)
    torch.save(CASES, PATH)
    print(len(CASES), "cases,", sum(case["out"] is None for case in CASES), "refused,",
          PATH.stat().st_size, "bytes")
